"""Stand-ins for the two llama.cpp shapes: files of our own that hold the anchors of the milady patch set.

The Metal CMake files do what the anchors need to be run by a real CMake, no more.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "manifests/milady.yaml"
METAL_CMAKE = "ggml/src/ggml-metal/CMakeLists.txt"
METAL_LOADER = "ggml/src/ggml-metal/ggml-metal-device.m"
GENERATOR = "ggml/src/ggml-vulkan/vulkan-shaders/vulkan-shaders-gen.cpp"
SHADERS = (
    "milady_polar",
    "milady_polar_get_rows",
    "milady_qjl",
    "milady_qjl_get_rows",
    "milady_qjl_mul_mv",
    "milady_turbo3",
    "milady_turbo3_tcq",
    "milady_turbo4",
)
KERNEL_FILES = ("milady_polar", "milady_qjl", "milady_turbo3", "milady_turbo3_tcq", "milady_turbo4")

_GENERATOR = """\
void process_shaders() {
    string_to_spv("other", "other.comp", {});

    for (auto &c : compiles) {
        c.wait();
    }
}
"""

_LIST_CMAKE = """\
set(METALLIB_KERNEL_SOURCES
    kernels/first.metal
    kernels/misc.metal
)
foreach(source ${METALLIB_KERNEL_SOURCES})
    get_filename_component(name ${source} NAME_WE)
    if (GGML_METAL_EMBED_LIBRARY)
        add_custom_command(
            OUTPUT ${name}.s
            COMMAND cat "${CMAKE_CURRENT_SOURCE_DIR}/${source}" > ${name}.metal
            COMMAND echo ".globl _ggml_metallib_${name}_start" > ${name}.s
            DEPENDS ${source}
            VERBATIM
        )
        list(APPEND outputs ${name}.s)
    else()
        add_custom_command(
            OUTPUT ${name}.air
            COMMAND xcrun -sdk macosx metal -O3 -c "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o ${name}.air
            DEPENDS ${source}
            VERBATIM
        )
        list(APPEND airs ${name}.air)
    endif()
endforeach()
if (NOT GGML_METAL_EMBED_LIBRARY)
    add_custom_command(
        OUTPUT default.metallib
        COMMAND xcrun -sdk macosx metallib ${airs} -o default.metallib
        DEPENDS ${airs}
    )
    list(APPEND outputs default.metallib)
endif()
add_custom_target(libraries ALL DEPENDS ${outputs})
"""

_LIST_LOADER = """\
#define GGML_METAL_LIBS \\
    X(FIRST,           first)          \\
    X(MISC,            misc)

enum kind {
#define X(e, s) LIB_##e,
    GGML_METAL_LIBS
#undef X
    LIB_COUNT,
};
static const char * const names[LIB_COUNT] = {
#define X(e, s) [LIB_##e] = #s,
    GGML_METAL_LIBS
#undef X
};
"""

_SINGLE_CMAKE = """\
set(METALLIB_COMMON "${CMAKE_CURRENT_SOURCE_DIR}/../ggml-common.h")
set(METALLIB_EMBED_ASM "${CMAKE_CURRENT_BINARY_DIR}/embed.s")
set(METALLIB_SOURCE_EMBED "${CMAKE_CURRENT_BINARY_DIR}/embed.metal")
set(XC_FLAGS -O3)
if (GGML_METAL_EMBED_LIBRARY)
    add_custom_command(
        OUTPUT "${METALLIB_EMBED_ASM}"
        COMMAND cat "${CMAKE_CURRENT_SOURCE_DIR}/ggml-metal.metal" > "${METALLIB_SOURCE_EMBED}"
        COMMAND echo ".section __DATA,__ggml_metallib"          >  "${METALLIB_EMBED_ASM}"
        DEPENDS ../ggml-common.h ggml-metal.metal ggml-metal-impl.h
        VERBATIM
    )
    add_custom_target(libraries ALL DEPENDS "${METALLIB_EMBED_ASM}")
else()
    add_custom_command(
        OUTPUT ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/default.metallib
        COMMAND xcrun -sdk macosx metal ${XC_FLAGS} -c ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/ggml-metal.metal -o - |
                xcrun -sdk macosx metallib        - -o ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/default.metallib
        DEPENDS ggml-metal.metal ${METALLIB_COMMON}
        )
    add_custom_target(libraries ALL DEPENDS ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/default.metallib)
endif()
"""

_SHARED = {GENERATOR: _GENERATOR, "ggml/src/ggml-common.h": "", "ggml/src/ggml-metal/ggml-metal-impl.h": ""}
TREES = {
    "list": {
        **_SHARED,
        METAL_CMAKE: _LIST_CMAKE,
        METAL_LOADER: _LIST_LOADER,
        "ggml/src/ggml-metal/kernels/first.metal": "kernel void first() {}\n",
        "ggml/src/ggml-metal/kernels/misc.metal": "kernel void misc() {}\n",
    },
    "single": {
        **_SHARED,
        METAL_CMAKE: _SINGLE_CMAKE,
        "ggml/src/ggml-metal/ggml-metal.metal": "kernel void first() {}\n",
    },
}
"""By shape: "list" has one Metal library per kernel source, "single" one Metal source, as v0.4.0-milady."""


def write_tree(folder: Path, shape: str) -> Path:
    """Write one of the stand-ins; returns its root."""
    for path, text in TREES[shape].items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    return folder


def snapshot(folder: Path) -> dict[str, str]:
    """Each file with digest and mode, each folder with an empty text."""
    return {
        path.relative_to(folder).as_posix(): f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_mode:o}"
        if path.is_file()
        else ""
        for path in sorted(folder.rglob("*"))
    }


def record(folder: Path) -> dict[str, object]:
    """What `shaderpack patch` wrote down in a tree."""
    data: dict[str, object] = json.loads((folder / ".shaderpack-milady.json").read_text("utf-8"))
    return data
