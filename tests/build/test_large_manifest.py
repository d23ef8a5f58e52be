"""The bench of large manifests, small: every variant is kept, and memory stays in proportion."""

from __future__ import annotations

import os
from pathlib import Path

from bench.large_manifest import in_child, pretend_built, write_project
from shaderc_tool.build.session import BuildRequest, Quiet, open_session
from shaderc_tool.manifest.load import load_manifest


def test_five_thousand_variants_keep_to_their_share_of_memory(tmp_path: Path) -> None:
    path = write_project(tmp_path, 5000)
    manifest = load_manifest(path)
    assert len(manifest.shaders) == 5000
    pretend_built(open_session(BuildRequest(path, tmp_path / "out"), manifest, dict(os.environ), Quiet()))
    *steps, (_, mebibytes) = in_child(tmp_path, 5000)
    assert [what for what, _ in steps] == ["expand", "read the state", "plan", "no-op check"]
    # 100,000 have 500 MB, of which the interpreter and its imports are a fixed part.
    assert mebibytes < 120
