"""Compute dispatches on a Vulkan device.

    with open_device() as device:
        result = device.run(Dispatch(spirv, "main", buffers, constants, groups))

Buffers live in device-local memory and are filled through staging buffers; a software device has one kind of memory,
which is mapped directly. Everything created for a dispatch belongs to an ExitStack and is gone when it closes.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from shaderc_tool.diagnostics import Diagnostic, ShaderpackError
from shaderc_tool.verify import vulkan_loader
from shaderc_tool.verify.backend import DeviceInfo, Dispatch, Result
from shaderc_tool.verify.vulkan_loader import PhysicalDevice, devices

__all__ = ["Buffer", "Copy", "Launch", "Pipeline", "Timing", "VulkanDevice", "devices", "open_device"]

_TIMEOUT_NS: Final = 120 * 10**9
"""A dispatch that takes longer counts as hanging."""

_PORTABILITY_SUBSET: Final = "VK_KHR_portability_subset"
_SPIRV_MAGIC: Final = 0x07230203


@dataclass(frozen=True)
class Buffer:
    """A storage buffer. `mapped` is its memory where the host can see it, None in device-local memory."""

    handle: Any
    size: int
    mapped: Any = None


@dataclass(frozen=True)
class Pipeline:
    """A compute pipeline and the layouts that descriptor sets and push constants for it need."""

    handle: Any
    layout: Any
    set_layout: Any


@dataclass(frozen=True)
class Launch:
    """One vkCmdDispatch: `descriptors` from `VulkanDevice.descriptors`."""

    pipeline: Pipeline
    descriptors: Any
    constants: bytes
    groups: tuple[int, int, int]


@dataclass(frozen=True)
class Copy:
    """One vkCmdCopyBuffer of `size` bytes from the start of one buffer to the start of another."""

    source: Buffer
    destination: Buffer
    size: int


@dataclass(frozen=True)
class Timing:
    """Milliseconds of the commands of one submission; `device_time` when the device's clock measured them."""

    milliseconds: float
    device_time: bool


@contextmanager
def open_device(selector: str | None = None) -> Iterator[VulkanDevice]:
    """The device named by `selector` (index or part of the name), or the best one: discrete GPUs first, software last.

    Raises ToolMissingError SP2031 without a Vulkan loader, SP2032 without a matching device.
    """
    with vulkan_loader.instance() as instance, ExitStack() as scope:
        physical = vulkan_loader.select(vulkan_loader.physical_devices(instance), selector)
        yield _open(physical, scope)


def _open(physical: PhysicalDevice, scope: ExitStack) -> VulkanDevice:
    vk = vulkan_loader.binding()
    with _failures(vk, physical.info, "open"):
        return _create(vk, physical, scope)


def _create(vk: Any, physical: PhysicalDevice, scope: ExitStack) -> VulkanDevice:
    family = vulkan_loader.compute_family(physical.handle)
    if family is None:
        raise AssertionError("devices without a compute queue are filtered out")
    index, timestamp_bits = family
    queue_info = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=index, queueCount=1, pQueuePriorities=[1.0])
    offered = {e.extensionName for e in vk.vkEnumerateDeviceExtensionProperties(physical.handle, None)}
    # A device that offers this extension must have it enabled.
    extensions = [_PORTABILITY_SUBSET] if _PORTABILITY_SUBSET in offered else []
    device_info = vk.VkDeviceCreateInfo(
        queueCreateInfoCount=1,
        pQueueCreateInfos=[queue_info],
        enabledExtensionCount=len(extensions),
        ppEnabledExtensionNames=extensions,
    )
    handle = vk.vkCreateDevice(physical.handle, device_info, None)
    scope.callback(vk.vkDestroyDevice, handle, None)
    pool_info = vk.VkCommandPoolCreateInfo(
        flags=vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, queueFamilyIndex=index
    )
    pool = vk.vkCreateCommandPool(handle, pool_info, None)
    scope.callback(vk.vkDestroyCommandPool, handle, pool, None)
    command_info = vk.VkCommandBufferAllocateInfo(
        commandPool=pool, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1
    )
    commands = vk.vkAllocateCommandBuffers(handle, command_info)[0]
    fence = vk.vkCreateFence(handle, vk.VkFenceCreateInfo(), None)
    scope.callback(vk.vkDestroyFence, handle, fence, None)
    queries = None  # some queues have no clock
    if timestamp_bits and physical.limits.timestamp_ns:
        query_info = vk.VkQueryPoolCreateInfo(queryType=vk.VK_QUERY_TYPE_TIMESTAMP, queryCount=2)
        queries = vk.vkCreateQueryPool(handle, query_info, None)
        scope.callback(vk.vkDestroyQueryPool, handle, queries, None)
    return VulkanDevice(
        vk=vk,
        scope=scope,
        physical=physical,
        handle=handle,
        queue=vk.vkGetDeviceQueue(handle, index, 0),
        commands=commands,
        fence=fence,
        queries=queries,
        tick_mask=(1 << timestamp_bits) - 1,
        memory=vk.vkGetPhysicalDeviceMemoryProperties(physical.handle),
    )


@contextmanager
def _failures(vk: Any, info: DeviceInfo, what: str) -> Iterator[None]:
    """Turn Vulkan errors into a diagnostic."""
    try:
        yield
    except (vk.VkError, vk.VkException) as error:
        name = type(error).__name__
        cause = "it did not end in time" if name == "VkTimeout" else name
        raise ShaderpackError(Diagnostic("SP5005", f"{info.name} failed to {what}", cause=cause)) from error


@dataclass(frozen=True)
class VulkanDevice:
    """A logical device with one queue and one command buffer; made by `open_device`. Not thread-safe."""

    vk: Any = field(repr=False)
    scope: ExitStack = field(repr=False)
    physical: PhysicalDevice
    handle: Any = field(repr=False)
    queue: Any = field(repr=False)
    commands: Any = field(repr=False)
    fence: Any = field(repr=False)
    queries: Any = field(repr=False)
    tick_mask: int
    memory: Any = field(repr=False)
    pipelines: dict[Any, Pipeline] = field(default_factory=dict, repr=False)

    @property
    def info(self) -> DeviceInfo:
        return self.physical.info

    def run(self, dispatch: Dispatch) -> Result:
        """Run a dispatch. Raises ShaderpackError SP5004 (limits) or SP5005 (the device refuses or fails)."""
        self._check(dispatch)
        with ExitStack() as scope, _failures(self.vk, self.info, "run a dispatch"):
            pipeline = self._pipeline_for(dispatch)
            buffers = {b.index: self.buffer(scope, len(b.contents)) for b in dispatch.buffers}
            for binding in dispatch.buffers:
                self.write(buffers[binding.index], binding.contents)
            bound = {b.index: (buffers[b.index], b.bound_bytes) for b in dispatch.buffers}
            launch = Launch(pipeline, self.descriptors(scope, pipeline, bound), dispatch.constants, dispatch.groups)
            times = [self.submit([launch]) for _ in range(dispatch.repeats)]
            read = {b.index: self.read(buffers[b.index]) for b in dispatch.buffers if b.read_back}
        best = min(times, key=lambda timing: timing.milliseconds)
        return Result(read, best.milliseconds, best.device_time)

    def buffer(self, scope: ExitStack, size: int) -> Buffer:
        """A storage buffer of `size` bytes (rounded up to words), contents undefined."""
        if self.info.software:
            return self._allocate(scope, size, host=True)
        return self._allocate(scope, size, host=False)

    def write(self, buffer: Buffer, contents: bytes) -> None:
        """Fill the start of a buffer."""
        if buffer.mapped is not None:
            buffer.mapped[: len(contents)] = contents
            return
        with ExitStack() as scope:
            staging = self._allocate(scope, len(contents), host=True)
            staging.mapped[: len(contents)] = contents
            self.submit([Copy(staging, buffer, len(contents))])

    def read(self, buffer: Buffer) -> bytes:
        """The contents of a buffer."""
        if buffer.mapped is not None:
            return bytes(buffer.mapped[: buffer.size])
        with ExitStack() as scope:
            staging = self._allocate(scope, buffer.size, host=True)
            self.submit([Copy(buffer, staging, buffer.size)])
            return bytes(staging.mapped[: buffer.size])

    def pipeline(
        self, scope: ExitStack, spirv: bytes, entry: str, bindings: Sequence[int], constant_bytes: int
    ) -> Pipeline:
        """A compute pipeline of storage buffers at `bindings` (descriptor set 0) and a push-constant block."""
        vk = self.vk
        if len(spirv) % 4 or len(spirv) < 20 or struct.unpack_from("<I", spirv)[0] != _SPIRV_MAGIC:
            raise ShaderpackError(Diagnostic("SP5005", "not a SPIR-V module", fix="build the pack again"))
        module_info = vk.VkShaderModuleCreateInfo(codeSize=len(spirv), pCode=spirv)
        module = self._owned(scope, vk.vkCreateShaderModule, vk.vkDestroyShaderModule, module_info)
        slots = [
            vk.VkDescriptorSetLayoutBinding(
                binding=index,
                descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                descriptorCount=1,
                stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
            )
            for index in bindings
        ]
        set_info = vk.VkDescriptorSetLayoutCreateInfo(bindingCount=len(slots), pBindings=slots)
        set_layout = self._owned(scope, vk.vkCreateDescriptorSetLayout, vk.vkDestroyDescriptorSetLayout, set_info)
        ranges = (
            [vk.VkPushConstantRange(stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT, offset=0, size=constant_bytes)]
            if constant_bytes
            else []
        )
        layout_info = vk.VkPipelineLayoutCreateInfo(
            setLayoutCount=1, pSetLayouts=[set_layout], pushConstantRangeCount=len(ranges), pPushConstantRanges=ranges
        )
        layout = self._owned(scope, vk.vkCreatePipelineLayout, vk.vkDestroyPipelineLayout, layout_info)
        stage = vk.VkPipelineShaderStageCreateInfo(stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName=entry)
        pipeline_info = vk.VkComputePipelineCreateInfo(stage=stage, layout=layout, basePipelineIndex=-1)
        handle = vk.vkCreateComputePipelines(self.handle, vk.VK_NULL_HANDLE, 1, [pipeline_info], None)[0]
        scope.callback(vk.vkDestroyPipeline, self.handle, handle, None)
        return Pipeline(handle, layout, set_layout)

    def descriptors(self, scope: ExitStack, pipeline: Pipeline, buffers: Mapping[int, tuple[Buffer, int]]) -> Any:
        """A descriptor set that binds to each index a buffer and the number of bytes of it that the kernel sees."""
        vk = self.vk
        size = vk.VkDescriptorPoolSize(type=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptorCount=len(buffers))
        pool_info = vk.VkDescriptorPoolCreateInfo(maxSets=1, poolSizeCount=1, pPoolSizes=[size])
        pool = self._owned(scope, vk.vkCreateDescriptorPool, vk.vkDestroyDescriptorPool, pool_info)
        set_info = vk.VkDescriptorSetAllocateInfo(
            descriptorPool=pool, descriptorSetCount=1, pSetLayouts=[pipeline.set_layout]
        )
        descriptor_set = vk.vkAllocateDescriptorSets(self.handle, set_info)[0]
        infos = [vk.VkDescriptorBufferInfo(buffer=b.handle, offset=0, range=n) for b, n in buffers.values()]
        writes = [
            vk.VkWriteDescriptorSet(
                dstSet=descriptor_set,
                dstBinding=index,
                descriptorCount=1,
                descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                pBufferInfo=[info],
            )
            for index, info in zip(buffers, infos, strict=True)
        ]
        vk.vkUpdateDescriptorSets(self.handle, len(writes), writes, 0, None)
        return descriptor_set

    def submit(self, commands: Sequence[Launch | Copy]) -> Timing:
        """Run commands in one submission, without barriers between them, and wait for the end."""
        vk = self.vk
        begin = vk.VkCommandBufferBeginInfo(flags=vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
        vk.vkBeginCommandBuffer(self.commands, begin)
        self._barrier()
        if self.queries is not None:
            vk.vkCmdResetQueryPool(self.commands, self.queries, 0, 2)
            vk.vkCmdWriteTimestamp(self.commands, vk.VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, self.queries, 0)
        for command in commands:
            self._record(command)
        if self.queries is not None:
            vk.vkCmdWriteTimestamp(self.commands, vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, self.queries, 1)
        self._barrier()
        vk.vkEndCommandBuffer(self.commands)
        return self._execute()

    def _execute(self) -> Timing:
        vk = self.vk
        info = vk.VkSubmitInfo(commandBufferCount=1, pCommandBuffers=[self.commands])
        start = time.perf_counter()
        vk.vkQueueSubmit(self.queue, 1, info, self.fence)
        vk.vkWaitForFences(self.handle, 1, [self.fence], vk.VK_TRUE, _TIMEOUT_NS)
        wall = time.perf_counter() - start
        vk.vkResetFences(self.handle, 1, [self.fence])
        if self.queries is None:
            return Timing(wall * 1e3, device_time=False)
        ticks = vk.ffi.new("uint64_t[2]")
        flags = vk.VK_QUERY_RESULT_64_BIT | vk.VK_QUERY_RESULT_WAIT_BIT
        vk.vkGetQueryPoolResults(self.handle, self.queries, 0, 2, 16, ticks, 8, flags)
        elapsed = (ticks[1] - ticks[0]) & self.tick_mask
        return Timing(elapsed * self.physical.limits.timestamp_ns / 1e6, device_time=True)

    def _record(self, command: Launch | Copy) -> None:
        vk = self.vk
        if isinstance(command, Copy):
            region = vk.VkBufferCopy(srcOffset=0, dstOffset=0, size=command.size)
            vk.vkCmdCopyBuffer(self.commands, command.source.handle, command.destination.handle, 1, [region])
            return
        point, pipeline = vk.VK_PIPELINE_BIND_POINT_COMPUTE, command.pipeline
        vk.vkCmdBindPipeline(self.commands, point, pipeline.handle)
        vk.vkCmdBindDescriptorSets(self.commands, point, pipeline.layout, 0, 1, [command.descriptors], 0, None)
        if command.constants:
            constants = vk.ffi.from_buffer(command.constants)
            stage, size = vk.VK_SHADER_STAGE_COMPUTE_BIT, len(command.constants)
            vk.vkCmdPushConstants(self.commands, pipeline.layout, stage, 0, size, constants)
        vk.vkCmdDispatch(self.commands, *command.groups)

    def _barrier(self) -> None:
        """Everything written so far, by shaders, copies and the host, is visible to everything that follows."""
        vk = self.vk
        everything = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | vk.VK_PIPELINE_STAGE_HOST_BIT
        writes = vk.VK_ACCESS_MEMORY_WRITE_BIT | vk.VK_ACCESS_HOST_WRITE_BIT
        reads = vk.VK_ACCESS_MEMORY_READ_BIT | vk.VK_ACCESS_MEMORY_WRITE_BIT | vk.VK_ACCESS_HOST_READ_BIT
        barrier = vk.VkMemoryBarrier(srcAccessMask=writes, dstAccessMask=reads)
        vk.vkCmdPipelineBarrier(self.commands, everything, everything, 0, 1, [barrier], 0, None, 0, None)

    def _allocate(self, scope: ExitStack, size: int, *, host: bool) -> Buffer:
        vk = self.vk
        size = max(4, (size + 3) & ~3)
        usage = (
            vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        )
        info = vk.VkBufferCreateInfo(size=size, usage=usage, sharingMode=vk.VK_SHARING_MODE_EXCLUSIVE)
        handle = self._owned(scope, vk.vkCreateBuffer, vk.vkDestroyBuffer, info)
        needs = vk.vkGetBufferMemoryRequirements(self.handle, handle)
        memory_info = vk.VkMemoryAllocateInfo(
            allocationSize=needs.size, memoryTypeIndex=self._memory_type(needs.memoryTypeBits, host)
        )
        memory = self._owned(scope, vk.vkAllocateMemory, vk.vkFreeMemory, memory_info)
        vk.vkBindBufferMemory(self.handle, handle, memory, 0)
        mapped = None
        if host:
            mapped = vk.vkMapMemory(self.handle, memory, 0, needs.size, 0)
            scope.callback(vk.vkUnmapMemory, self.handle, memory)
        return Buffer(handle, size, mapped)

    def _memory_type(self, allowed: int, host: bool) -> int:
        """The first allowed memory type with the best match: cached for the host, device-local otherwise."""
        vk = self.vk
        coherent = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        wanted = (
            (coherent | vk.VK_MEMORY_PROPERTY_HOST_CACHED_BIT, coherent)
            if host
            else (vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0)
        )
        types = [self.memory.memoryTypes[i].propertyFlags for i in range(self.memory.memoryTypeCount)]
        for flags in wanted:
            for index, have in enumerate(types):
                if allowed >> index & 1 and have & flags == flags:
                    return index
        raise ShaderpackError(Diagnostic("SP5005", "the device offers no suitable memory", subject=self.info.name))

    def _owned(self, scope: ExitStack, create: Callable[..., Any], destroy: Callable[..., Any], info: Any) -> Any:
        """Create an object that is destroyed when `scope` closes."""
        handle = create(self.handle, info, None)
        scope.callback(destroy, self.handle, handle, None)
        return handle

    def _pipeline_for(self, dispatch: Dispatch) -> Pipeline:
        """The pipeline of a dispatch, kept as long as the device: drivers may compile anew for each one."""
        bindings = tuple(b.index for b in dispatch.buffers)
        key = (dispatch.binary, dispatch.entry, bindings, len(dispatch.constants))
        if key not in self.pipelines:
            self.pipelines[key] = self.pipeline(self.scope, *key)
        return self.pipelines[key]

    def _check(self, dispatch: Dispatch) -> None:
        limits = self.physical.limits
        over = [
            f"{n} work-groups in {axis}, at most {most}"
            for axis, n, most in zip("xyz", dispatch.groups, limits.max_groups, strict=True)
            if n > most
        ]
        if len(dispatch.constants) > limits.push_constant_bytes:
            over.append(f"{len(dispatch.constants)} bytes of push constants, at most {limits.push_constant_bytes}")
        over += [
            f"{b.bound_bytes} bytes at binding {b.index}, at most {limits.storage_buffer_bytes}"
            for b in dispatch.buffers
            if b.bound_bytes > limits.storage_buffer_bytes
        ]
        if over:
            raise ShaderpackError(
                Diagnostic("SP5004", f"dispatch exceeds the limits of {self.info.name}", cause="; ".join(over))
            )
