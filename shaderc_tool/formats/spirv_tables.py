"""Numbers of the SPIR-V specification (unified1) that a reader of compute modules needs."""

from __future__ import annotations

from typing import Final

MAGIC: Final = 0x07230203
HEADER_WORDS: Final = 5

# Opcodes (section 3.49)
OP_SOURCE, OP_NAME, OP_MEMBER_NAME, OP_STRING = 3, 5, 6, 7
OP_EXTENSION, OP_EXT_INST_IMPORT, OP_MEMORY_MODEL, OP_ENTRY_POINT, OP_EXECUTION_MODE, OP_CAPABILITY = (
    10,
    11,
    14,
    15,
    16,
    17,
)
OP_TYPE_VOID, OP_TYPE_BOOL, OP_TYPE_INT, OP_TYPE_FLOAT, OP_TYPE_VECTOR, OP_TYPE_MATRIX = 19, 20, 21, 22, 23, 24
OP_TYPE_IMAGE, OP_TYPE_SAMPLER, OP_TYPE_SAMPLED_IMAGE, OP_TYPE_ARRAY, OP_TYPE_RUNTIME_ARRAY = 25, 26, 27, 28, 29
OP_TYPE_STRUCT, OP_TYPE_OPAQUE, OP_TYPE_POINTER = 30, 31, 32
OP_CONSTANT_TRUE, OP_CONSTANT_FALSE, OP_CONSTANT, OP_CONSTANT_COMPOSITE = 41, 42, 43, 44
OP_SPEC_CONSTANT_TRUE, OP_SPEC_CONSTANT_FALSE, OP_SPEC_CONSTANT, OP_SPEC_CONSTANT_COMPOSITE = 48, 49, 50, 51
OP_FUNCTION, OP_FUNCTION_END, OP_VARIABLE, OP_DECORATE, OP_MEMBER_DECORATE = 54, 56, 59, 71, 72
OP_GROUP_DECORATE, OP_GROUP_MEMBER_DECORATE = 74, 75
OP_EXECUTION_MODE_ID: Final = 331

SCALARS: Final = (OP_TYPE_BOOL, OP_TYPE_INT, OP_TYPE_FLOAT)

CONVERSIONS: Final = {
    109: "OpConvertFToU",
    110: "OpConvertFToS",
    111: "OpConvertSToF",
    112: "OpConvertUToF",
    113: "OpUConvert",
    114: "OpSConvert",
    115: "OpFConvert",
}

# Decorations (section 3.20)
DECORATION_SPEC_ID, DECORATION_BLOCK, DECORATION_BUFFER_BLOCK, DECORATION_ROW_MAJOR = 1, 2, 3, 4
DECORATION_ARRAY_STRIDE, DECORATION_MATRIX_STRIDE, DECORATION_BUILT_IN = 6, 7, 11
DECORATION_NON_WRITABLE, DECORATION_BINDING, DECORATION_SET, DECORATION_OFFSET = 24, 33, 34, 35
DECORATIONS: Final = frozenset({
    DECORATION_SPEC_ID, DECORATION_BLOCK, DECORATION_BUFFER_BLOCK, DECORATION_ROW_MAJOR, DECORATION_ARRAY_STRIDE,
    DECORATION_MATRIX_STRIDE, DECORATION_BUILT_IN, DECORATION_NON_WRITABLE, DECORATION_BINDING, DECORATION_SET,
    DECORATION_OFFSET,
})  # fmt: skip
"""Those that the reader keeps. None may be given twice with different operands."""
BUILT_IN_WORKGROUP_SIZE: Final = 25

# Execution modes (section 3.6)
MODE_LOCAL_SIZE, MODE_LOCAL_SIZE_ID = 17, 38

# Storage classes (section 3.7)
UNIFORM_CONSTANT, UNIFORM, PUSH_CONSTANT, STORAGE_BUFFER, PHYSICAL_STORAGE_BUFFER = 0, 2, 9, 12, 5349

EXECUTION_MODELS: Final = {
    0: "Vertex",
    1: "TessellationControl",
    2: "TessellationEvaluation",
    3: "Geometry",
    4: "Fragment",
    5: "GLCompute",
    6: "Kernel",
    5267: "TaskNV",
    5268: "MeshNV",
    5364: "TaskEXT",
    5365: "MeshEXT",
}

# The registered tools that write the modules one meets (section 3.1, and the registry's spir-v.xml).
GENERATORS: Final = {
    6: "LLVM/SPIR-V Translator",
    7: "SPIR-V Tools Assembler",
    8: "glslang",
    13: "shaderc over glslang",
    14: "spiregg",
    15: "rspirv",
    17: "SPIR-V Tools Linker",
    18: "VKD3D Shader Compiler",
    21: "Clspv",
    22: "MLIR SPIR-V Serializer",
    23: "Tint Compiler",
    24: "ANGLE Shader Compiler",
    27: "Rust GPU Compiler Backend",
    28: "Naga",
    31: "SkSL",
    36: "Taichi",
    40: "Slang Compiler",
    41: "Zig Compiler",
    43: "LLVM SPIR-V Backend",
}

CAPABILITIES: Final = {
    0: "Matrix",
    1: "Shader",
    2: "Geometry",
    3: "Tessellation",
    4: "Addresses",
    5: "Linkage",
    6: "Kernel",
    7: "Vector16",
    9: "Float16",
    10: "Float64",
    11: "Int64",
    12: "Int64Atomics",
    13: "ImageBasic",
    17: "Pipes",
    18: "Groups",
    19: "DeviceEnqueue",
    21: "AtomicStorage",
    22: "Int16",
    23: "TessellationPointSize",
    24: "GeometryPointSize",
    25: "ImageGatherExtended",
    27: "StorageImageMultisample",
    28: "UniformBufferArrayDynamicIndexing",
    29: "SampledImageArrayDynamicIndexing",
    30: "StorageBufferArrayDynamicIndexing",
    31: "StorageImageArrayDynamicIndexing",
    32: "ClipDistance",
    33: "CullDistance",
    34: "ImageCubeArray",
    35: "SampleRateShading",
    36: "ImageRect",
    37: "SampledRect",
    38: "GenericPointer",
    39: "Int8",
    40: "InputAttachment",
    41: "SparseResidency",
    42: "MinLod",
    43: "Sampled1D",
    44: "Image1D",
    45: "SampledCubeArray",
    46: "SampledBuffer",
    47: "ImageBuffer",
    48: "ImageMSArray",
    49: "StorageImageExtendedFormats",
    50: "ImageQuery",
    51: "DerivativeControl",
    52: "InterpolationFunction",
    53: "TransformFeedback",
    54: "GeometryStreams",
    55: "StorageImageReadWithoutFormat",
    56: "StorageImageWriteWithoutFormat",
    57: "MultiViewport",
    61: "GroupNonUniform",
    62: "GroupNonUniformVote",
    63: "GroupNonUniformArithmetic",
    64: "GroupNonUniformBallot",
    65: "GroupNonUniformShuffle",
    66: "GroupNonUniformShuffleRelative",
    67: "GroupNonUniformClustered",
    68: "GroupNonUniformQuad",
    69: "ShaderLayer",
    70: "ShaderViewportIndex",
    71: "UniformDecoration",
    4165: "CoreBuiltinsARM",
    4174: "TensorsARM",
    4212: "Float8EXT",
    4213: "Float8CooperativeMatrixEXT",
    4422: "FragmentShadingRateKHR",
    4423: "SubgroupBallotKHR",
    4427: "DrawParameters",
    4428: "WorkgroupMemoryExplicitLayoutKHR",
    4429: "WorkgroupMemoryExplicitLayout8BitAccessKHR",
    4430: "WorkgroupMemoryExplicitLayout16BitAccessKHR",
    4431: "SubgroupVoteKHR",
    4433: "StorageBuffer16BitAccess",
    4434: "UniformAndStorageBuffer16BitAccess",
    4435: "StoragePushConstant16",
    4436: "StorageInputOutput16",
    4437: "DeviceGroup",
    4439: "MultiView",
    4441: "VariablePointersStorageBuffer",
    4442: "VariablePointers",
    4445: "AtomicStorageOps",
    4448: "StorageBuffer8BitAccess",
    4449: "UniformAndStorageBuffer8BitAccess",
    4450: "StoragePushConstant8",
    4464: "DenormPreserve",
    4465: "DenormFlushToZero",
    4466: "SignedZeroInfNanPreserve",
    4467: "RoundingModeRTE",
    4468: "RoundingModeRTZ",
    4471: "RayQueryProvisionalKHR",
    4472: "RayQueryKHR",
    4479: "RayTracingKHR",
    5013: "StencilExportEXT",
    5016: "Int64ImageEXT",
    5055: "ShaderClockKHR",
    5116: "BFloat16TypeKHR",
    5117: "BFloat16DotProductKHR",
    5118: "BFloat16CooperativeMatrixKHR",
    5266: "MeshShadingNV",
    5283: "MeshShadingEXT",
    5288: "ComputeDerivativeGroupQuadsKHR",
    5291: "FragmentDensityEXT",
    5297: "GroupNonUniformPartitionedNV",
    5301: "ShaderNonUniform",
    5302: "RuntimeDescriptorArray",
    5303: "InputAttachmentArrayDynamicIndexing",
    5304: "UniformTexelBufferArrayDynamicIndexing",
    5305: "StorageTexelBufferArrayDynamicIndexing",
    5306: "UniformBufferArrayNonUniformIndexing",
    5307: "SampledImageArrayNonUniformIndexing",
    5308: "StorageBufferArrayNonUniformIndexing",
    5309: "StorageImageArrayNonUniformIndexing",
    5310: "InputAttachmentArrayNonUniformIndexing",
    5311: "UniformTexelBufferArrayNonUniformIndexing",
    5312: "StorageTexelBufferArrayNonUniformIndexing",
    5345: "VulkanMemoryModel",
    5346: "VulkanMemoryModelDeviceScope",
    5347: "PhysicalStorageBufferAddresses",
    5350: "ComputeDerivativeGroupLinearKHR",
    5357: "CooperativeMatrixNV",
    5363: "FragmentShaderSampleInterlockEXT",
    5372: "FragmentShaderShadingRateInterlockEXT",
    5373: "ShaderSMBuiltinsNV",
    5378: "FragmentShaderPixelInterlockEXT",
    5379: "DemoteToHelperInvocation",
    5390: "BindlessTextureNV",
    5394: "CooperativeVectorNV",
    5404: "AtomicFloat16VectorNV",
    5430: "CooperativeMatrixReductionsNV",
    5431: "CooperativeMatrixConversionsNV",
    5432: "CooperativeMatrixPerElementOperationsNV",
    5433: "CooperativeMatrixTensorAddressingNV",
    5434: "CooperativeMatrixBlockLoadsNV",
    5435: "CooperativeVectorTrainingNV",
    5439: "TensorAddressingNV",
    5447: "CooperativeMatrixDecodeVectorNV",
    5568: "SubgroupShuffleINTEL",
    5612: "AtomicFloat32MinMaxEXT",
    5613: "AtomicFloat64MinMaxEXT",
    5616: "AtomicFloat16MinMaxEXT",
    6016: "DotProductInputAll",
    6017: "DotProductInput4x8Bit",
    6018: "DotProductInput4x8BitPacked",
    6019: "DotProduct",
    6022: "CooperativeMatrixKHR",
    6026: "GroupNonUniformRotateKHR",
    6029: "FloatControls2",
    6033: "AtomicFloat32AddEXT",
    6034: "AtomicFloat64AddEXT",
    6095: "AtomicFloat16AddEXT",
    6400: "GroupUniformArithmeticKHR",
    6912: "DotProductFloat16AccFloat32VALVE",
    6913: "DotProductFloat16AccFloat16VALVE",
    6914: "DotProductBFloat16AccVALVE",
    6915: "DotProductFloat8AccFloat32VALVE",
}


def capability_name(number: int) -> str:
    """The specification's name, or `Capability<N>` for one that is not in the table."""
    return CAPABILITIES.get(number, f"Capability<{number}>")
