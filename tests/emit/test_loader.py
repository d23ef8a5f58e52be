"""Loaders: the Vulkan one runs against a stand-in device, the Apple one compiles against stand-in frameworks."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from shaderc_tool.emit.c_header import c_header, header_name
from shaderc_tool.emit.loader import MetalBundle, metal_loader, vulkan_loader
from shaderc_tool.emit.payload import Payload
from shaderc_tool.emit.storage import storage
from tests.emit.support import run
from tests.tools import require_tool

STAND_INS = Path(__file__).parent / "stand_ins"
MAGIC = b"\x03\x02\x23\x07"
# Lengths around the block and padding borders of SHA-256: 55, 56, 63, 64 and 119 bytes behind whole blocks.
SHADERS = tuple(
    Payload(f"demo_shader{size}", MAGIC + bytes(i % 251 for i in range(size - 4)), f"s{size}.spv")
    for size in (20, 55, 56, 63, 64, 119, 120, 4096)
)


VULKAN_MAIN = """
#include "demo_vulkan.h"
#include <stdio.h>
static VkResult create(VkDevice device, const VkShaderModuleCreateInfo *info, const VkAllocationCallbacks *allocator,
                       VkShaderModule *module) {
    (void)device; (void)allocator; (void)module;
    printf("created %zu bytes, type %d, first word %08x\\n", info->codeSize, (int)info->sType, info->pCode[0]);
    return VK_SUCCESS;
}
int main(int argc, char **argv) {
    VkShaderModule module;
    char message[200] = "";
    for (int i = 1; i < argc; i++) {
        VkResult result = demo_create_shader_module(NULL, create, argv[i], &module, message, sizeof message);
        if (result != VK_SUCCESS) printf("%d %s\\n", (int)result, message);
    }
    return 0;
}
"""


def vulkan_program(folder: Path, embedded: tuple[Payload, ...], language: str) -> Path:
    """A program with the loader for SHADERS, linked with data that may be other than it was generated for."""
    compiler = require_tool("clang")
    texts = {**vulkan_loader("demo", SHADERS), header_name("demo"): c_header("demo", SHADERS), "main.c": VULKAN_MAIN}
    data = storage("string", "demo", embedded)["demo-shaders.c"].decode()
    for name, text in {**texts, "demo-shaders.c": data}.items():
        (folder / name).write_text(text)
    kind = "c++" if language.startswith("c++") else "c"
    flags = [
        "-x",
        kind,
        f"-std={language}",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsanitize=undefined",
        "-fno-sanitize=function,vptr",
        "-I",
        str(STAND_INS),
    ]
    run(compiler, *flags, "main.c", "demo_vulkan.c", "demo-shaders.c", "-o", "program", cwd=folder)
    return folder / "program"


@pytest.mark.parametrize("language", ["c99", "c++17"])
def test_vulkan_loader_creates_each_module(language: str, tmp_path: Path) -> None:
    program = vulkan_program(tmp_path, SHADERS, language)
    names = [shader.symbol for shader in SHADERS]
    assert run(program, *names, cwd=tmp_path).splitlines() == [
        f"created {len(shader.data)} bytes, type 16, first word 07230203" for shader in SHADERS
    ]


def test_vulkan_loader_names_the_missing_and_the_stale_shader(tmp_path: Path) -> None:
    stale = tuple(Payload(s.symbol, s.data[:-1] + b"\xff", s.path) for s in SHADERS)
    program = vulkan_program(tmp_path, stale, "c99")
    output = run(program, "demo_gone", *(s.symbol for s in SHADERS), cwd=tmp_path).splitlines()
    assert output[0] == "-3 demo: no such shader: demo_gone"
    assert output[1:] == [f"-3 demo: stale shader, rebuild the embedded data: {s.symbol}" for s in SHADERS]


# --- Apple


LIBRARY = Payload("demo_metallib", b"MTLB" + bytes(100), "default.metallib")
SOURCE = Payload("demo_metal_source", b"kernel void kernel_a() {}", "merged.msl")
BUNDLES = {
    "library": MetalBundle("demo", LIBRARY, ("kernel_a", "kernel_b")),
    "source": MetalBundle(
        "demo", SOURCE, ("kernel_a",), True, {"HAS_BF16": "1", "NAME": 'a"b\\c$d'}, "3.1", fast_math=False
    ),
}


@pytest.mark.parametrize("language", ["objective-c", "objective-c++"])
@pytest.mark.parametrize("bundle", BUNDLES.values(), ids=BUNDLES)
def test_objective_c_compiles_without_a_warning(bundle: MetalBundle, language: str, tmp_path: Path) -> None:
    """The stand-in frameworks declare what Apple documents; they are not Apple's headers."""
    clang = require_tool("clang")
    for name, text in metal_loader(bundle).items():
        (tmp_path / name).write_text(text)
    system = ["-nostdinc", "-isystem", str(STAND_INS), "-isystem", str(STAND_INS / "libc"), "-stdlib=libc++"]
    flags = ["-target", "arm64-apple-macosx14", "-x", language, "-fobjc-arc", "-fblocks", *system]
    run(clang, *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "demo_metal.m", cwd=tmp_path)


@pytest.mark.parametrize("bundle", BUNDLES.values(), ids=BUNDLES)
def test_header_carries_the_digest_and_loaders_every_function(bundle: MetalBundle) -> None:
    texts = metal_loader(bundle)
    assert set(texts) == {"demo_metal.h", "demo_metal.m", "DemoMetal.swift"}
    assert f'#define DEMO_PAYLOAD_SHA256 "{bundle.payload.digest}"' in texts["demo_metal.h"]
    for name in ("demo_metal.m", "DemoMetal.swift"):
        assert bundle.payload.digest not in texts[name]
        assert "DEMO_PAYLOAD_SHA256" in texts[name]
        assert all(f'"{function}"' in texts[name] for function in bundle.functions)
        assert "$" not in re.sub(r"\$0|c\$d", "", texts[name])


def test_source_is_compiled_with_the_options_of_the_manifest() -> None:
    texts = metal_loader(BUNDLES["source"])
    assert 'preprocessorMacros = @{@"HAS_BF16" : @"1", @"NAME" : @"a\\"b\\\\c$d"};' in texts["demo_metal.m"]
    assert "MTLLanguageVersion3_1" in texts["demo_metal.m"]
    assert "fastMathEnabled = NO" in texts["demo_metal.m"]
    assert ".version3_1" in texts["DemoMetal.swift"]


def test_header_is_plain_c(tmp_path: Path) -> None:
    (tmp_path / "demo_metal.h").write_text(metal_loader(BUNDLES["library"])["demo_metal.h"])
    (tmp_path / "main.c").write_text('#include "demo_metal.h"\nint main(void) { return !demo_payload_bytes(); }\n')
    argv = [require_tool("gcc"), "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "main.c"]
    subprocess.run(argv, cwd=tmp_path, check=True, timeout=30)


def test_bad_bundles_are_refused() -> None:
    with pytest.raises(ValueError, match="identifier"):
        MetalBundle("demo", LIBRARY, ("kernel a",))
    with pytest.raises(ValueError, match="language"):
        MetalBundle("demo", SOURCE, (), True, language="metal3.1")
    with pytest.raises(ValueError, match="source payload"):
        MetalBundle("demo", LIBRARY, (), language="3.1")
