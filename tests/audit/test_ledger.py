"""The capability ledger: evidence counts for exactly these bytes, and the policy says what publishable needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shaderc_tool.audit.ledger import write_ledger
from shaderc_tool.diagnostics import Diagnostic, Place, Related
from shaderc_tool.manifest.load import parse_manifest
from shaderc_tool.manifest.model import Manifest

MANIFEST = """\
schema: 1
pack: demo
targets:
  macos: {{api: metal, sdk: macosx, min_os: "14.0", std: metal3.1}}
  ios: {{api: metal, sdk: iphoneos, min_os: "17.0", std: metal3.1}}
  vulkan: {{api: vulkan}}
kernels:
  k:
    metal: {{file: k.metal, functions: {{kernel_k: {{buffers: [x]}}}}}}
    vulkan: {{file: k.comp, symbol: demo_k, bindings: [x]}}
audit: {{publishable: {policy}}}
"""
DIGESTS = {"macos/default.metallib": "aa", "ios/default.metallib": "bb", "vulkan/demo_k.spv": "cc"}


def manifest(policy: str = "[present, verified]") -> Manifest:
    return parse_manifest(MANIFEST.format(policy=policy), "m.yaml", Path("/nowhere"))


def proof(output: str, sha256: str, symbol: str, **more: Any) -> dict[str, Any]:
    common = {"backend": "air-cpu", "device": "cpu", "driver": "", "software": True, "max_abs": 1e-6, "ok": True}
    return {**common, "output": output, "sha256": sha256, "symbol": symbol, **more}


MACOS = proof("macos/default.metallib", "aa", "kernel_k")


def rows(*evidence: dict[str, Any], policy: str = "[present, verified]", **more: Any) -> dict[str, dict[str, Any]]:
    digests, found = more.pop("digests", DIGESTS), more.pop("found", [])
    ledger = write_ledger(manifest(policy), digests, found, evidence, **more)
    return {row["target"]: row for row in ledger["kernels"]}


def test_a_row_for_each_kernel_and_target() -> None:
    found = rows(MACOS)
    assert set(found) == {"macos", "ios", "vulkan"}
    assert found["macos"]["publishable"]
    assert found["ios"]["why_not"] == ["not verified"]
    assert found["macos"]["verified"][0]["max_abs"] == 1e-6


@pytest.mark.parametrize(
    "wrong",
    [{"sha256": "ab"}, {"output": "ios/default.metallib"}, {"symbol": "kernel_other"}, {"ok": False}, {"ok": None}],
)
def test_evidence_for_anything_else_does_not_count(wrong: dict[str, Any]) -> None:
    assert rows({**MACOS, **wrong})["macos"]["why_not"] == ["not verified"]


def test_evidence_for_what_is_not_there_does_not_count() -> None:
    found = rows({**MACOS, "sha256": ""}, digests={})
    assert found["macos"]["verified"] == []
    assert found["macos"]["why_not"] == ["not present", "not verified"]


def test_only_apple_s_own_loader_proves_loading() -> None:
    assert rows(MACOS)["macos"]["loaded_on_apple_hardware"] is False
    real = {**MACOS, "backend": "metal", "software": False}
    assert rows(real)["macos"]["loaded_on_apple_hardware"] is True
    assert "loaded_on_apple_hardware" not in rows()["vulkan"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("[present]", []),
        ("[present, interface]", []),
        ("[dispatched]", ["not dispatched"]),
        ("[loaded_on_apple_hardware]", ["not loaded on Apple hardware"]),
        ("[present, verified, dispatched]", ["not verified", "not dispatched"]),
    ],
)
def test_the_policy(policy: str, expected: list[str]) -> None:
    found = rows(policy=policy)["macos"]
    assert found["why_not"] == expected
    assert found["publishable"] is not expected or not expected


def test_dispatch_is_a_place_in_a_host_source() -> None:
    found = rows(policy="[dispatched]", dispatched={"kernel_k": Place("host.mm", 7)})
    assert (found["macos"]["dispatched"], found["macos"]["publishable"]) == ("host.mm:7", True)
    assert (found["vulkan"]["dispatched"], found["vulkan"]["publishable"]) == ("no", False)


def test_a_finding_about_one_target_does_not_blame_the_others() -> None:
    related = (Related(Place("ios/default.metallib"), "in this library"),)
    missing = Diagnostic("SP4001", "missing", subject="kernel_k", related=related)
    found = rows(policy="[present]", found=[missing])
    assert found["ios"]["why_not"] == ["diagnostic SP4001", "not present"]
    assert found["macos"]["publishable"]
    whole = Diagnostic("SP4021", "wrong platform", subject="ios/default.metallib", related=related)
    assert not rows(policy="[interface]", found=[whole])["ios"]["publishable"]


def test_a_kernel_that_a_target_s_language_version_leaves_out_has_no_row_there() -> None:
    text = MANIFEST.format(policy="[present]").replace("std: metal3.1}", "std: metal2.4}", 1)
    text = text.replace("buffers: [x]}", "buffers: [x], requires_std: metal3.1}")
    ledger = write_ledger(parse_manifest(text, "m.yaml", Path("/nowhere")), DIGESTS, [], [])
    assert [(row["target"], row["symbol"]) for row in ledger["kernels"]] == [("vulkan", "demo_k"), ("ios", "kernel_k")]
