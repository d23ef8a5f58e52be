"""Apple's toolchain as a MetalToolchain: `xcrun metal -c` a source, one `xcrun metallib` link, nothing piped."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shaderc_tool.build.metal import Made
from shaderc_tool.build.process import Completed
from shaderc_tool.build.session import Session
from shaderc_tool.diagnostics import Diagnostic, has_errors
from shaderc_tool.manifest.model import MetalUnit, Target
from shaderc_tool.toolchains.apple import MetalOptions, lint_target, metal_argv, metallib_argv
from shaderc_tool.toolchains.apple_find import AppleToolchain, find_apple
from shaderc_tool.toolchains.apple_result import Ended, judge
from shaderc_tool.toolchains.apple_targets import AppleTarget


def apple_target(target: Target) -> AppleTarget:
    """The manifest's Metal target in the driver's terms."""
    return AppleTarget(target.sdk, target.min_os, target.std)


@dataclass
class AppleMetal:
    """Compiles in a private folder with relative paths, since a library records the paths that it was made of."""

    session: Session
    family: str = "apple"
    _found: dict[str, AppleToolchain] = field(default_factory=dict)

    def _toolchain(self, target: Target) -> AppleToolchain:
        if target.sdk not in self._found:
            self._found[target.sdk] = find_apple(apple_target(target), self.session.finder.probe)
        return self._found[target.sdk]

    def identity(self, target: Target) -> str:
        return self._toolchain(target).identity

    def _options(self, unit: MetalUnit) -> MetalOptions:
        include = tuple(dict.fromkeys(self.session.manifest.include))
        return MetalOptions(unit.optimize, unit.math, unit.debug, unit.defines, include)

    def compile_argv(self, unit: MetalUnit, target: Target) -> tuple[str, ...]:
        return metal_argv(apple_target(target), unit.file, unit.output, f"{unit.output}.d", self._options(unit))

    def compile(self, unit: MetalUnit, target: Target, text: str | None = None) -> Made:
        found = lint_target(apple_target(target), target.place)
        if has_errors(found):
            return Made(None, found)
        with self.session.folder.work_folder() as work:
            folder = work / "in"
            self._stage(unit, folder, text)
            argv = metal_argv(apple_target(target), unit.file, "out.air", "out.d", self._options(unit))
            done = self.session.runner.run(argv, cwd=folder, env=self._toolchain(target).env)
            return self._made(done, folder / "out.air", "metal", unit.file, found)

    def _stage(self, unit: MetalUnit, folder: Path, text: str | None) -> None:
        """Copy the include closure, so that the compiler can read nothing that the plan does not know of."""
        if text is not None:
            (folder / unit.file).parent.mkdir(parents=True)
            (folder / unit.file).write_text(text, "utf-8", newline="\n")
            return
        for name in self.session.index.closure(unit.file).files:
            copy = folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.session.manifest.root / name, copy)

    def link(self, target: Target, airs: Sequence[tuple[str, bytes]]) -> Made:
        with self.session.folder.work_folder() as work:
            names = [output.rsplit("/", 1)[-1] for output, _ in airs]
            for name, (_, data) in zip(names, airs, strict=True):
                (work / name).write_bytes(data)
            argv = metallib_argv(apple_target(target), names, "default.metallib")
            done = self.session.runner.run(argv, cwd=work, env=self._toolchain(target).env)
            return self._made(done, work / "default.metallib", "metallib", f"{target.name}/default.metallib", ())

    def _made(self, done: Completed, output: Path, tool: str, subject: str, before: tuple[Diagnostic, ...]) -> Made:
        wrote = output.is_file() and output.stat().st_size > 0
        stdout, stderr = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
        ended = Ended(tool, subject, -9 if done.timed_out else done.status, done.how_it_ended(), wrote, stdout, stderr)
        found = before + judge(ended)
        return Made(None if has_errors(found) else output.read_bytes(), found, done.seconds)
