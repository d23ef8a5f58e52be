"""Documents that can be checked are checked."""

from __future__ import annotations

import re
from pathlib import Path

from shaderc_tool.cli import _COMMANDS
from shaderc_tool.codes import CODES
from shaderc_tool.report.catalogue import catalogue

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_list_of_diagnostics_is_current() -> None:
    """Write it again with `python -m shaderc_tool.report.catalogue > docs/diagnostics.md`."""
    assert (ROOT / "docs/diagnostics.md").read_text("utf-8") == catalogue(CODES)


def test_every_local_link_leads_somewhere() -> None:
    for document in DOCUMENTS:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text("utf-8")):
            assert (document.parent / link).exists(), f"{document.name} → {link}"


def test_every_command_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    for name in _COMMANDS:
        assert f"`shaderpack {name}" in text, name
