"""How a check names a place."""

from __future__ import annotations

from collections.abc import Callable

from shaderc_tool.diagnostics import Place

At = Callable[[int], Place]
"""From the index of a token to the user's place."""
