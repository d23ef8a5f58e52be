"""Which Metal toolchain: Apple's where xcrun is, else the portable one, else exit 3 with the fix."""

from __future__ import annotations

import importlib.util
import shutil

from shaderc_tool.build.metal import MetalToolchain
from shaderc_tool.build.metal_apple import AppleMetal
from shaderc_tool.build.metal_portable import PortableMetal
from shaderc_tool.build.session import Session
from shaderc_tool.diagnostics import Diagnostic, ToolMissingError
from shaderc_tool.toolchains.apple_diagnose import no_xcrun


def choose_metal(session: Session) -> MetalToolchain:
    """The toolchain for this session's Metal targets. Raises ToolMissingError (SP2003, SP2011)."""
    wanted = session.request.metal_toolchain
    xcrun = shutil.which("xcrun", path=session.runner.environment.get("PATH"))
    if wanted == "apple" or (wanted == "auto" and xcrun):
        if not xcrun:
            raise ToolMissingError(no_xcrun("metal"))
        return AppleMetal(session)
    if all(importlib.util.find_spec(wheel) for wheel in ("ziglang", "llvmlite")):
        return PortableMetal(session)
    names = ", ".join(t.name for t in session.manifest.targets.values() if t.api == "metal")
    raise ToolMissingError(
        Diagnostic(
            "SP2003",
            f"no Metal compiler was found for {names}",
            cause="neither xcrun's `metal` nor the portable compiler of the `metal` extra is here",
            fix="run `pip install 'shaderpack[metal]'`, or build the Vulkan half with `--target vulkan`",
        )
    )
