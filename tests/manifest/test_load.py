"""Manifests to values: defaults, variants, policies, and all faults in one run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.diagnostics import ShaderpackError, UsageError
from shaderc_tool.manifest.load import parse_manifest
from shaderc_tool.manifest.model import Manifest, Member
from shaderc_tool.manifest.select import select_targets

HEAD = """\
schema: 1
pack: demo
targets:
  vulkan: {api: vulkan}
  ios: {api: metal, sdk: iphoneos, min_os: 17.0, std: metal3.1}
"""


def load(text: str, folder: Path = Path("/nowhere")) -> Manifest:
    return parse_manifest(text, "demo.yaml", folder)


def faults(text: str, folder: Path = Path("/nowhere")) -> list[tuple[str, int]]:
    with pytest.raises(ShaderpackError) as caught:
        load(text, folder)
    return [(d.code, d.place.line if d.place else 0) for d in caught.value.diagnostics]


def test_a_kernel_becomes_one_job_for_each_target_of_its_api() -> None:
    manifest = load(
        HEAD
        + """\
defaults: {vulkan: {optimize: size, defines: {COMMON: 1}}}
kernels:
  scale:
    verify: scale_ref
    vulkan: {file: a.comp, symbol: demo_scale, defines: {X: 2}, local_size: [64], bindings: [a, b],
             push_constants: [n, "f: float"]}
    metal: {file: a.metal, functions: [kernel_a, kernel_b]}
"""
    )
    (job,) = manifest.shaders
    assert (job.symbol, job.target, job.file, job.env) == ("demo_scale", "vulkan", "a.comp", "vulkan1.2")
    assert (job.optimize, job.layout, job.defines) == ("size", "std430", (("COMMON", "1"), ("X", "2")))
    assert job.interface.local_size == (64, 1, 1)
    assert job.interface.push_constants == (Member("n"), Member("f", "float"))
    assert job.output == "vulkan/demo_scale.spv"
    (unit,) = manifest.metal
    assert [f.name for f in unit.functions] == ["kernel_a", "kernel_b"]
    assert unit.functions[0].verify == "scale_ref"
    assert unit.output == "ios/a.air"
    assert manifest.targets["ios"].min_os == "17.0"


def test_variants_are_the_product_less_the_exclusions() -> None:
    manifest = load(
        HEAD
        + """\
variants:
  scale:
    vulkan: {file: s.comp, symbol: "s_{type}_{wg}"}
    matrix: {type: {f32: {T: float}, f16: {T: float16_t, HALF: "{wg}"}}, wg: [64, 128]}
    defines: {WG: "{wg}"}
    exclude: [{type: f16, wg: 128}]
"""
    )
    assert {job.symbol: dict(job.defines) for job in manifest.shaders} == {
        "s_f32_64": {"T": "float", "WG": "64"},
        "s_f32_128": {"T": "float", "WG": "128"},
        "s_f16_64": {"T": "float16_t", "HALF": "64", "WG": "64"},
    }


def test_policies_by_name_are_applied_with_their_reason() -> None:
    manifest = load(
        HEAD
        + """\
kernels: {mul: {vulkan: {file: m.comp, symbol: mul_bf16}}, add: {vulkan: {file: a.comp, symbol: add}}}
policies: [{when: {symbol: "*bf16*"}, optimize: none, reason: "optimizer bug"}]
"""
    )
    assert [(j.optimize, j.optimize_reason) for j in manifest.shaders] == [("none", "optimizer bug"), ("speed", "")]


def test_all_faults_come_in_one_run_in_the_order_of_the_file() -> None:
    text = """\
schema: 2
pack: demo
targets:
  vulkan: {api: vulcan}
  mac: {api: metal, sdk: macosx, std: metal3.1}
kernls: {}
kernels:
  a: {vulkan: {file: a.comp}}
  b: {vulkan: {file: ../../b.comp, symbol: b, targets: [nope]}}
outputs: [{kind: c-header, target: mac}]
"""
    assert faults(text) == [
        ("SP1007", 1),
        ("SP1005", 4),
        ("SP1003", 5),
        ("SP1002", 6),
        ("SP1003", 8),
        ("SP1008", 9),
        ("SP1011", 9),
        ("SP1011", 10),
    ]


def test_did_you_mean() -> None:
    with pytest.raises(UsageError) as caught:
        load(HEAD + "kernels: {a: {vulkan: {file: a.comp, symbol: a, lokal_size: [1]}}}\n")
    assert "local_size" in caught.value.diagnostics[0].fix


def test_two_jobs_with_one_output_are_a_duplicate() -> None:
    text = HEAD + "kernels: {a: {vulkan: {file: a.comp, symbol: x}}, b: {vulkan: {file: b.comp, symbol: x}}}\n"
    assert faults(text) == [("SP4004", 6)]


def test_the_root_is_the_folder_above_manifests() -> None:
    text = HEAD + "kernels: {a: {vulkan: {file: ../src/a.comp, symbol: a}}}\n"
    assert load(text, Path("/p/manifests")).shaders[0].file == "src/a.comp"
    assert faults(text, Path("/p/other")) == [("SP1008", 6)]
    assert load("root: ..\n" + text, Path("/p/other")).shaders[0].file == "src/a.comp"


def test_select_targets() -> None:
    manifest = load(HEAD + "kernels: {a: {vulkan: {file: a.comp, symbol: a}, metal: {file: a.metal, functions: f}}}\n")
    assert select_targets(manifest, ["ios"]).shaders == ()
    assert len(select_targets(manifest, ["vulkan"]).shaders) == 1
    with pytest.raises(UsageError) as caught:
        select_targets(manifest, ["vulkn"])
    assert "vulkan" in caught.value.diagnostics[0].fix


KEYS = st.sampled_from(
    ["schema", "pack", "targets", "kernels", "variants", "outputs", "audit", "policies", "x", "file"]
)
SCALARS = st.one_of(st.integers(-5, 5), st.sampled_from(["vulkan", "a.comp", "{x}", "", "1", "true"]), st.none())
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=20,
)


@given(st.dictionaries(KEYS, TREES, max_size=6))
def test_any_tree_loads_or_is_a_usage_error_with_places(tree: dict[str, object]) -> None:
    import json

    try:
        load(json.dumps(tree))
    except ShaderpackError as error:
        assert error.diagnostics
        assert all(d.place is not None and d.cause and d.fix for d in error.diagnostics)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_the_number_of_variants_is_the_product_of_the_axes(sizes: list[int]) -> None:
    axes = ", ".join(f"x{i}: [{', '.join(f'v{j}' for j in range(n))}]" for i, n in enumerate(sizes))
    symbol = "_".join(f"{{x{i}}}" for i in range(len(sizes)))
    manifest = load(HEAD + f'variants: {{v: {{vulkan: {{file: a.comp, symbol: "s_{symbol}"}}, matrix: {{{axes}}}}}}}\n')
    expected = 1
    for n in sizes:
        expected *= n
    assert len({job.symbol for job in manifest.shaders}) == expected
