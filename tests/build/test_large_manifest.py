"""The bench of large manifests, small: a fifth of a second for a thousand variants, and memory in proportion."""

from __future__ import annotations

import os
from pathlib import Path

from bench.large_manifest import in_child, pretend_built, write_project
from shaderc_tool.build.session import BuildRequest, Quiet, open_session
from shaderc_tool.manifest.load import load_manifest


def test_five_thousand_variants_take_a_twentieth_of_the_budget(tmp_path: Path) -> None:
    path = write_project(tmp_path, 5000)
    manifest = load_manifest(path)
    assert len(manifest.shaders) == 5000
    pretend_built(open_session(BuildRequest(path, tmp_path / "out"), manifest, dict(os.environ), Quiet()))
    *steps, (_, mebibytes) = in_child(tmp_path, 5000)
    # 100,000 have 5 s and 500 MB. A loaded machine may be several times slower; a quadratic step is far slower still.
    assert sum(seconds for _, seconds in steps) < 5 / 20 * 8
    assert mebibytes < 120
