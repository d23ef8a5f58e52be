"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes says more about the machine than about the code; hangs are tested where they could happen.
settings.register_profile("shaderpack", deadline=None)
settings.load_profile("shaderpack")
