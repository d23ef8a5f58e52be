"""The shaders against what the production C quantizer made, and against the scores published with the first kernels.

Expected values are the vectors' own (tests/golden/README.md), not the references'.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shaderc_tool.verify.case import Case
from shaderc_tool.verify.references import qjl, tcq
from shaderc_tool.verify.runner import verify_kernel
from shaderc_tool.verify.vulkan_device import VulkanDevice
from tests.verify import fixture_generator as generator
from tests.verify.test_golden_vectors import GOLDEN
from tests.verify.test_published_fixtures import QJL, TCQ
from tests.verify.vulkan_kernels import kernel

ROWS = 24
_ENCODERS = {
    "turbo3_set_rows": "tbq3_0_blocks",
    "turbo4_set_rows": "tbq4_0_blocks",
    "qjl_set_rows": "qjl1_256_blocks",
    "polar_set_rows": "q4_polar_blocks",
}


@pytest.fixture(scope="module")
def golden() -> dict[str, NDArray[Any]]:
    with np.load(GOLDEN) as data:
        return dict(data)


def _check(device: VulkanDevice, shaders: Mapping[str, bytes], name: str, case: Case) -> None:
    result = verify_kernel(device, kernel(name, shaders[name]), [case])
    assert result.passed, result.diagnostics()


@pytest.mark.parametrize("name", _ENCODERS)
def test_encoders_write_production_bytes(
    name: str, device: VulkanDevice, shaders: dict[str, bytes], golden: dict[str, NDArray[Any]]
) -> None:
    """All 24 rows, zeros, ties and subnormal norms included, in reverse order."""
    blocks = golden[_ENCODERS[name]]
    buffers = {"src": golden["keys"].reshape(-1), "rows": np.arange(ROWS, dtype=np.uint32)[::-1]}
    params = {"n_rows": ROWS, "head_dim": 128}
    if name == "qjl_set_rows":
        buffers["projection"] = golden["qjl_projection"].reshape(-1)
        params["proj_dim"] = 256
    _check(device, shaders, name, Case("golden", buffers, params, {"dst": blocks[::-1].reshape(-1)}))


@pytest.mark.parametrize("residual", [False, True])
def test_polar_decoder(
    residual: bool, device: VulkanDevice, shaders: dict[str, bytes], golden: dict[str, NDArray[Any]]
) -> None:
    expected = golden["q4_polar_dequant_residual" if residual else "q4_polar_dequant"]
    for row in range(ROWS):  # one dispatch a row: tolerances follow the row's norm
        case = Case(
            f"row {row}",
            {"block": golden["q4_polar_blocks"][row]},
            {"head_dim": 128, "use_qjl": int(residual), "n_rows": 1},
            {"out": expected[row].astype(np.float64)},
            atol=1e-5 * float(np.linalg.norm(expected[row])),
        )
        _check(device, shaders, "polar_get_rows", case)


def test_qjl_decoder(device: VulkanDevice, shaders: dict[str, bytes], golden: dict[str, NDArray[Any]]) -> None:
    for row in range(ROWS):
        expected = golden["qjl1_256_dequant"][row].astype(np.float64)
        case = Case(
            f"row {row}",
            {"block": golden["qjl1_256_blocks"][row], "projection": golden["qjl_projection"].reshape(-1)},
            {"head_dim": 128, "proj_dim": 256, "n_rows": 1},
            {"out": expected},
            atol=1e-5 * float(np.linalg.norm(expected)),
        )
        _check(device, shaders, "qjl_get_rows", case)


@pytest.mark.parametrize("name", ["qjl", "qjl_multi"])
def test_qjl_scores(
    name: str, device: VulkanDevice, shaders: dict[str, bytes], golden: dict[str, NDArray[Any]]
) -> None:
    blocks = golden["qjl1_256_blocks"]
    scores = golden["qjl_scores_4heads_2kv"].astype(np.float64)
    case = Case(
        "golden",
        {"q_sketch": golden["qjl_query_sketch"].reshape(-1), "packed_k": np.stack((blocks, blocks[::-1])).reshape(-1)},
        {"n_heads": 4, "n_kv_heads": 2, "n_tokens": ROWS, "proj_dim": 256}
        | ({"tokens_per_threadgroup": 10} if name == "qjl_multi" else {}),
        {"scores": scores.reshape(-1)},
        atol=1e-6 * float(np.abs(scores).max()),
    )
    _check(device, shaders, name, case)


@pytest.mark.parametrize(("name", "blocks"), [("turbo3", "tbq3_0"), ("turbo4", "tbq4_0"), ("polar", "q4_polar")])
def test_scores_are_products_with_decoded_keys(
    name: str, blocks: str, device: VulkanDevice, shaders: dict[str, bytes], golden: dict[str, NDArray[Any]]
) -> None:
    """Production's decoder, then a plain dot product with the query as it is."""
    q = golden["query"][1]
    products = golden[f"{blocks}_dequant"].astype(np.float64) @ q.astype(np.float64)
    keys = golden[f"{blocks}_blocks"].reshape(-1)
    turbo = {"head_dim": 128, "n_kv": ROWS, "kv_stride_blocks": 4, "q_head": 0, "head_offset_bytes": 0}
    polar = {"n_rows": ROWS, "head_dim": 128, "use_qjl": 0, "k_offset_bytes": 0, "q_offset": 0, "y_offset": 0}
    params, output = (polar, "y") if name == "polar" else (turbo, "scores")
    # The scaled row 3 (norm 3400) bounds the sums' magnitude.
    atol = 1e-6 * float(np.linalg.norm(golden["keys"][3]) * np.linalg.norm(q))
    _check(device, shaders, name, Case("golden", {"q": q, "k": keys}, params, {output: products}, atol=atol))


def test_published_tcq_scores(device: VulkanDevice, shaders: dict[str, bytes]) -> None:
    q, keys = generator.fixtures()["turbo3_tcq"]
    case = Case(
        "published",
        {"q": q, "k": tcq.encode(keys).reshape(-1), "codebook": tcq.codebook()},
        {"head_dim": 128, "n_kv": 8, "kv_stride_blocks": 1, "q_head": 0, "head_offset_bytes": 0},
        {"scores": np.array(TCQ)},
        atol=2e-5,
    )
    _check(device, shaders, "turbo3_tcq", case)


def test_published_qjl_scores(device: VulkanDevice, shaders: dict[str, bytes]) -> None:
    q, keys = generator.fixtures()["qjl"]
    projection = generator.projection()
    blocks = qjl.encode(keys, projection).reshape(-1)
    case = Case(
        "published",
        {"packed_k": blocks, "q_sketch": (q.astype(np.float64) @ projection.astype(np.float64)).astype(np.float32)},
        {"n_heads": 1, "n_kv_heads": 1, "n_tokens": 8, "proj_dim": 256},
        {"scores": np.array(QJL)},
        atol=2e-5,
    )
    _check(device, shaders, "qjl", case)
