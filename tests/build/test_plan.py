"""The planner: every field that can change a module's bytes is in its key, and policies follow capabilities."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shaderc_tool.build.plan import KEEP, MAKE, decide, key_of, shader_parts
from shaderc_tool.build.records import BUILT
from shaderc_tool.build.sources import Closure, SourceIndex
from shaderc_tool.diagnostics import Place
from shaderc_tool.manifest.model import Interface, ShaderJob
from tests.build.project import Project
from tests.tools import require_glsl

JOB = ShaderJob(
    kernel="k",
    target="vulkan",
    symbol="k",
    file="k.comp",
    place=Place("m.yaml", 1, 1),
    env="vulkan1.2",
    spv="",
    defines=(("A", "1"),),
    optimize="speed",
    layout="std430",
    debug=False,
    interface=Interface(),
)
CLOSURE = Closure(("k.comp",), "digest")


def key(
    job: ShaderJob = JOB, closure: Closure = CLOSURE, tool: str = "t 1", policy: str = "", include: str = "i"
) -> str:
    return key_of(shader_parts(job, closure, tool, policy, include), "spirv")


@pytest.mark.parametrize(
    "change",
    [
        {"env": "vulkan1.3"},
        {"spv": "1.6"},
        {"defines": (("A", "2"),)},
        {"defines": (("A", "1"), ("B", ""))},
        {"optimize": "none"},
        {"layout": "scalar"},
        {"debug": True},
    ],
)
def test_every_field_of_the_job_is_in_the_key(change: dict[str, object]) -> None:
    assert key(replace(JOB, **change)) != key()  # type: ignore[arg-type]


def test_tool_policy_include_and_sources_are_in_the_key() -> None:
    keys = {key(), key(tool="t 2"), key(policy="p"), key(include="j"), key(closure=Closure(("k.comp",), "other"))}
    assert len(keys) == 5


@pytest.mark.parametrize("change", [{"symbol": "x"}, {"kernel": "x"}, {"target": "x"}, {"place": Place("n.yaml")}])
def test_names_are_not(change: dict[str, object]) -> None:
    assert key(replace(JOB, **change)) == key()  # type: ignore[arg-type]


def test_decisions(tmp_path: Path) -> None:
    index = SourceIndex(tmp_path, [], {})
    parts = shader_parts(JOB, CLOSURE, "t 1", "", "")
    known = {"key": "k", "parts": parts, "signature": "s"}
    assert decide(None, "k", parts, CLOSURE, index, "s") == (MAKE, "first build of this output")
    assert decide(known, "k", parts, CLOSURE, index, "s") == (KEEP, "nothing changed")
    assert decide(known, "k", parts, CLOSURE, index, "") == (MAKE, "the output is missing")
    assert decide(known, "k", parts, CLOSURE, index, "t") == (MAKE, "the output was changed by something else")
    other = {**parts, "env": "vulkan1.3 "}
    assert decide(known, "j", other, CLOSURE, index, "s") == (MAKE, "env changed: «vulkan1.2» → «vulkan1.3»")


SMALL_FLOATS = """\
#version 450
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer B { float16_t b[]; };
void main() { b[1] = b[0]; }
"""


@pytest.mark.parametrize("symbol", ["demo_half", "demo_renamed"])
def test_a_policy_follows_the_capability_and_not_the_name(tmp_path: Path, symbol: str) -> None:
    require_glsl()
    project = Project.create(tmp_path / "p", tmp_path / "cache")
    (project.folder / "src/half.comp").write_text(SMALL_FLOATS)
    project.edit("manifest.yaml", "  plain:", f"  half: {{vulkan: {{file: half.comp, symbol: {symbol}}}}}\n  plain:")
    rule = '{when: {capability: "StorageBuffer16*"}, optimize: none, reason: "optimizer bug 123"}'
    with (project.folder / "manifest.yaml").open("a") as stream:
        stream.write(f"policies: [{rule}]\n")
    for expected in (BUILT, "cached"):
        result = project.build()
        (record,) = [r for r in result.records if r.output == f"vulkan/{symbol}.spv"]
        assert (record.status, record.note) == (expected, "optimizer bug 123")
        assert [r.note for r in result.records if r.subject == "add"] == [""]
        project.output(f"vulkan/{symbol}.spv").unlink()


def test_two_files_that_share_an_include_have_closures_of_their_own(tmp_path: Path) -> None:
    for name, text in {
        "a.comp": '#include "c.h"\n',
        "b.comp": '#include "c.h"\n#include "no.h"\n',
        "c.h": "x\n",
    }.items():
        (tmp_path / name).write_text(text)
    index = SourceIndex(tmp_path, [], {})
    assert index.closure("a.comp").files == ("a.comp", "c.h")
    assert [m.path for m in index.closure("b.comp").missing] == ["no.h"]
    assert index.closure("gone.comp").digest == ""


def test_an_include_cycle_ends(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text('#include "b.h"\n')
    (tmp_path / "b.h").write_text('#include "a.h"\n')
    assert SourceIndex(tmp_path, [], {}).closure("a.h").files == ("a.h", "b.h")


def test_line_numbers_in_code_make_comments_matter(tmp_path: Path) -> None:
    source = tmp_path / "a.comp"
    source.write_text("int x = __LINE__;\n")
    before = SourceIndex(tmp_path, [], {}).closure("a.comp").digest
    source.write_text("// moved\nint x = __LINE__;\n")
    assert SourceIndex(tmp_path, [], {}).closure("a.comp").digest != before
