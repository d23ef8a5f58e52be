"""Variants listed one by one: the same jobs as a matrix that says the same, and every wrong mixture is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from shaderc_tool.diagnostics import ShaderpackError
from shaderc_tool.manifest.load import parse_manifest
from shaderc_tool.manifest.model import Manifest

HEAD = "schema: 1\npack: demo\ntargets: {vulkan: {api: vulkan}}\n"


def load(text: str) -> Manifest:
    return parse_manifest(HEAD + text, "demo.yaml", Path("/nowhere"))


def test_cases_make_the_same_jobs_as_a_matrix() -> None:
    matrix = load(
        'variants: {v: {vulkan: {file: a.comp, symbol: "a_{t}"}, defines: {C: 1}, matrix: {t: {x: {T: X}, y: {T: Y}}}}}'
    )
    cases = load(
        "variants: {v: {vulkan: {file: a.comp}, defines: {C: 1}, cases: ["
        "{symbol: a_x, defines: {T: X}}, {symbol: a_y, defines: {T: Y}}]}}"
    )
    assert [(j.symbol, dict(j.defines), j.output) for j in cases.shaders] == [
        (j.symbol, dict(j.defines), j.output) for j in matrix.shaders
    ]


def test_a_case_overrides_the_common_macros_and_keeps_its_own_place() -> None:
    manifest = load(
        "variants:\n  v:\n    vulkan: {file: a.comp, defines: {A: 1}}\n    cases:\n"
        "      - {symbol: one}\n      - {symbol: two, defines: {A: 2, B: ''}}\n"
    )
    assert [j.defines for j in manifest.shaders] == [(("A", "1"),), (("A", "2"), ("B", ""))]
    assert [j.place.line for j in manifest.shaders] == [8, 9]


@pytest.mark.parametrize(
    ("variant", "code", "subject"),
    [
        ("{vulkan: {file: a.comp, symbol: s}, cases: [{symbol: s}]}", "SP1002", "variants.v.vulkan.symbol"),
        ("{vulkan: {file: a.comp}, matrix: {t: [a]}, cases: [{symbol: s}]}", "SP1002", "variants.v.matrix"),
        ("{vulkan: {file: a.comp, symbol: s}}", "SP1003", "variants.v.matrix"),
        ("{vulkan: {file: a.comp}, matrix: {t: [a]}}", "SP1003", "variants.v.vulkan.symbol"),
        ("{vulkan: {file: a.comp}, cases: [{symbol: 's-1'}]}", "SP1009", "s-1"),
        ("{vulkan: {file: a.comp}, cases: [{symbol: s}, {symbol: s}]}", "SP4004", "s"),
        ("{vulkan: {file: a.comp}, cases: []}", "SP1004", "variants.v.cases"),
    ],
)
def test_every_wrong_form_is_named(variant: str, code: str, subject: str) -> None:
    with pytest.raises(ShaderpackError) as caught:
        load(f"variants: {{v: {variant}}}")
    assert (code, subject) in [(d.code, d.subject) for d in caught.value.diagnostics]


def test_validate_is_inherited() -> None:
    manifest = load(
        "defaults: {vulkan: {validate: off}}\nkernels:\n  a: {vulkan: {file: a.comp, symbol: a}}\n"
        "  b: {vulkan: {file: b.comp, symbol: b, validate: warning}}\n"
    )
    assert [job.validate for job in manifest.shaders] == ["off", "warning"]
