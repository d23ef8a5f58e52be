"""The SPIR-V reader: against spirv-cross and spirv-dis, and against damage."""

from __future__ import annotations

import contextlib
import json
import re
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.spirv import Module, read_module
from shaderc_tool.formats.spirv_types import Block
from tests.formats.spirv_sources import SOURCES, compile_all
from tests.tools import require_tool


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return compile_all(tmp_path_factory.mktemp("plain"), "-O0", "-g")


@pytest.fixture(scope="module")
def optimized(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return compile_all(tmp_path_factory.mktemp("optimized"), "-O")


def read(modules: dict[str, bytes], name: str) -> Module:
    return read_module(modules[name])


def test_entry_points_and_local_sizes(optimized: dict[str, bytes]) -> None:
    (entry,) = read(optimized, "buffers").entry_points
    assert (entry.name, entry.execution_model, entry.local_size) == ("main", "GLCompute", (8, 4, 2))
    (entry,) = read(optimized, "spec").entry_points
    assert (entry.local_size, entry.local_size_spec_ids) == (None, (7,))


def test_push_constants(optimized: dict[str, bytes]) -> None:
    block = read(optimized, "buffers").push_constants
    assert block is not None
    assert [(m.offset, m.size, m.type) for m in block.members] == [
        (0, 4, "uint"),
        (4, 4, "float"),
        (8, 8, "ivec2"),
        (48, 12, "vec3"),
    ]
    assert block.size == 60


def test_names_are_read_when_they_are_there(plain: dict[str, bytes], optimized: dict[str, bytes]) -> None:
    block = read(plain, "buffers").push_constants
    assert block is not None
    assert [m.name for m in block.members] == ["n", "scale", "at", "last"]
    assert read(plain, "buffers").has_debug_names
    assert not read(optimized, "buffers").has_debug_names
    assert read(plain, "buffers").source_files  # -g leaks the build's absolute path
    assert read(optimized, "buffers").source_files == ()


def test_bindings(plain: dict[str, bytes]) -> None:
    found = {(b.set, b.binding): (b.kind, b.readonly, b.count) for b in read(plain, "buffers").bindings}
    assert found == {
        (0, 1): ("uniform_buffer", False, 1),
        (0, 2): ("storage_buffer", False, 1),
        (1, 4): ("storage_buffer", True, 1),
    }
    found = {(b.set, b.binding): (b.kind, b.readonly, b.count) for b in read(plain, "image").bindings}
    assert found == {(0, 0): ("image", False, 1), (0, 1): ("sampled_image", False, 3)}


def test_spec_constants(plain: dict[str, bytes]) -> None:
    found = [(c.spec_id, c.name, c.type, c.default) for c in read(plain, "spec").spec_constants]
    assert found[:4] == [
        (3, "COUNT", "uint", 5),
        (4, "SCALE", "float", -1.5),
        (5, "FLAG", "bool", True),
        (6, "OFFSET", "int", -2),
    ]
    assert found[4][0] == 7


def test_spec_constants_of_all_widths(plain: dict[str, bytes]) -> None:
    found = [(c.type, c.default) for c in read(plain, "widths").spec_constants]
    assert found == [
        ("int8_t", -5),
        ("uint16_t", 65535),
        ("int64_t", -5_000_000_000),
        ("uint64_t", 2**64 - 1),
        ("double", 0.1),
        ("float16_t", 1.5),
    ]


def test_capabilities_extensions_and_tool(plain: dict[str, bytes]) -> None:
    module = read(plain, "half")
    assert {"Shader", "StorageBuffer16BitAccess", "GroupNonUniformArithmetic"} <= set(module.capabilities)
    assert module.version == (1, 5)
    assert "glslang" in module.generator.lower()
    assert module.constant_conversions == ("OpFConvert",)


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_layouts_agree_with_spirv_cross(plain: dict[str, bytes], tmp_path: Path, name: str) -> None:
    cross = require_tool("spirv-cross")
    path = tmp_path / "m.spv"
    path.write_bytes(plain[name])
    reflected = json.loads(subprocess.run([cross, str(path), "--reflect"], check=True, capture_output=True).stdout)
    module = read(plain, name)
    kinds = {"ssbos": "storage_buffer", "ubos": "uniform_buffer", "textures": "sampled_image", "images": "image"}
    theirs = {(i["set"], i["binding"], kinds[k]) for k in kinds for i in reflected.get(k, ())}
    assert {(b.set, b.binding, b.kind) for b in module.bindings} == theirs
    for binding in module.bindings:
        if binding.block is not None:
            section = "ssbos" if binding.kind == "storage_buffer" else "ubos"
            (item,) = [i for i in reflected[section] if (i["set"], i["binding"]) == (binding.set, binding.binding)]
            assert binding.block.size == item["block_size"]
            _same_members(reflected, module, item["type"], binding.block)
    if module.push_constants:
        _same_members(reflected, module, reflected["push_constants"][0]["type"], module.push_constants)


def _same_members(reflected: dict[str, Any], module: Module, type_name: str, block: Block) -> None:
    """Members with their offsets and strides, and those of the structs inside."""
    theirs = reflected["types"][type_name]["members"]
    assert [(m.name, m.offset, m.array_stride) for m in block.members] == [
        (m["name"], m["offset"], m.get("array_stride", 0)) for m in theirs
    ]
    for member, their in zip(block.members, theirs, strict=True):
        nested = their["type"] if their["type"] in reflected["types"] and not their.get("physical_pointer") else None
        assert bool(member.struct) == bool(nested)
        if nested:
            (inner,) = [s for s in module.structs if s.identifier == member.struct]
            _same_members(reflected, module, nested, inner)


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_declarations_agree_with_spirv_dis(optimized: dict[str, bytes], tmp_path: Path, name: str) -> None:
    dis = require_tool("spirv-dis")
    path = tmp_path / "m.spv"
    path.write_bytes(optimized[name])
    text = subprocess.run([dis, "--raw-id", str(path)], check=True, capture_output=True, text=True).stdout
    module = read(optimized, name)
    assert list(module.capabilities) == re.findall(r"OpCapability (\w+)", text)
    assert list(module.extensions) == re.findall(r'OpExtension "(.*)"', text)
    bound = re.search(r"Bound: (\d+)", text)
    assert bound is not None
    assert module.bound == int(bound[1])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda d: d[:19], "too short"),
        (lambda d: d[:-2], "multiple of 4"),
        (lambda d: b"MTLB" + d[4:], "magic"),
        (lambda d: struct.pack(">I", 0x07230203) + d[4:], "big-endian"),
        (lambda d: d[:4] + struct.pack("<I", 0x00090900) + d[8:], "version"),
        (lambda d: d[:12] + struct.pack("<I", 0) + d[16:], "bound"),
        (lambda d: d[:16] + struct.pack("<I", 1) + d[20:], "schema"),
        (lambda d: d[:20] + struct.pack("<I", 0) + d[24:], "no words"),
        (lambda d: d + struct.pack("<I", 0x00050001), "past the end"),
        (lambda d: d[:-4], "cut"),
    ],
)
def test_each_damage_has_its_message(optimized: dict[str, bytes], damage: Any, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        read_module(damage(optimized["buffers"]))


def test_every_truncation_is_an_error(optimized: dict[str, bytes]) -> None:
    data = optimized["buffers"]
    for length in range(0, len(data), 4):
        with pytest.raises(FormatError):
            read_module(data[:length])


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_mutations_are_read_or_refused_in_bounded_time(plain: dict[str, bytes], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SOURCES)))
    words = list(struct.unpack(f"<{len(plain[name]) // 4}I", plain[name]))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(words) - 1))
        words[at] = data.draw(st.one_of(st.integers(0, 2**32 - 1), st.integers(0, 200), st.sampled_from(words)))
    begun = time.monotonic()
    with contextlib.suppress(FormatError):
        read_module(struct.pack(f"<{len(words)}I", *words))
    assert time.monotonic() - begun < 2
