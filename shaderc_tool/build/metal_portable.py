"""The portable compiler as a MetalToolchain: clang 15 and LLVM 15 from wheels, no Apple software."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from shaderc_tool import __version__
from shaderc_tool.build.folders import default_cache_folder
from shaderc_tool.build.metal import Made
from shaderc_tool.build.process import Completed
from shaderc_tool.build.session import Session
from shaderc_tool.diagnostics import Diagnostic, Severity
from shaderc_tool.manifest.model import MetalUnit, Target

PLATFORM_OF_SDK = {
    "macosx": "macos",
    "iphoneos": "ios",
    "iphonesimulator": "ios-simulator",
    "appletvos": "tvos",
    "appletvsimulator": "tvos-simulator",
    "xros": "visionos",
    "xrsimulator": "visionos-simulator",
}


@cache
def _front_end() -> str:
    """A digest of the front end itself: its version stays the same while it is being changed."""
    package = Path(__file__).parent.parent
    files = [*(package / "msl").rglob("*"), *(package / "formats").glob("metallib*.py")]
    digest = hashlib.sha256()
    for path in sorted(f for f in files if f.is_file() and f.suffix != ".pyc"):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


@dataclass
class PortableMetal:
    """Compiles through `shaderc_tool.msl`. A construct that it does not model fails the build and is named."""

    session: Session
    family: str = "portable"

    def identity(self, target: Target) -> str:
        wheels = ", ".join(f"{name} {version(name)}" for name in ("ziglang", "llvmlite"))
        return f"shaderpack portable Metal {__version__}+{_front_end()} ({wheels})"

    def compile_argv(self, unit: MetalUnit, target: Target) -> tuple[str, ...]:
        """No outside command line makes this: the front end drives clang itself."""
        return ()

    def compile(self, unit: MetalUnit, target: Target, text: str | None = None) -> Made:
        from shaderc_tool.msl.compiler import compile_msl
        from shaderc_tool.msl.options import MslOptions

        begun = time.perf_counter()
        platform = PLATFORM_OF_SDK.get(target.sdk)
        if platform is None:
            return Made(None, (_no_platform(target),))
        options = MslOptions(
            std=target.std,
            platform=platform,
            min_os=target.min_os,
            math=unit.math,  # type: ignore[arg-type]  # the manifest has checked it
            defines=tuple(f"{name}={value}" for name, value in unit.defines),
            include_dirs=tuple(self.session.manifest.include),
            debug=unit.debug,
            cache_dir=Path(default_cache_folder(self.session.runner.environment)) / "msl",
        )
        source = (self.session.manifest.root / unit.file).read_text("utf-8") if text is None else text
        result = compile_msl(source, unit.file, options, self._start, self.session.manifest.root)
        seconds = time.perf_counter() - begun
        if result.status == "clean" and result.bitcode is not None:
            return Made(result.bitcode, result.diagnostics, seconds)
        return Made(None, tuple(_as_error(d, result.status) for d in result.diagnostics), seconds)

    def link(self, target: Target, airs: Sequence[tuple[str, bytes]]) -> Made:
        from shaderc_tool.msl.link import link_metallib

        begun = time.perf_counter()
        data = link_metallib([air for _, air in airs], PLATFORM_OF_SDK[target.sdk], target.min_os)
        return Made(data, (), time.perf_counter() - begun)

    def _start(self, argv: Sequence[str], cwd: Path, stdin: bytes) -> Completed:
        return self.session.runner.run(argv, cwd=cwd, stdin=stdin)


def _as_error(diagnostic: Diagnostic, status: str) -> Diagnostic:
    """A gap of the portable compiler is no mistake of the source, but its output is missing all the same."""
    from dataclasses import replace

    return replace(diagnostic, severity=Severity.ERROR) if status == "not-modelled" else diagnostic


def _no_platform(target: Target) -> Diagnostic:
    return Diagnostic(
        "SP2003",
        f"the portable compiler has no profile for the SDK {target.sdk} (target {target.name})",
        target.place,
        cause="it knows " + ", ".join(sorted(PLATFORM_OF_SDK)),
        fix="build this target on a Mac",
        subject=target.name,
    )
