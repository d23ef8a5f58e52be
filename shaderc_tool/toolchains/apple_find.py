"""Find the Apple toolchain by running it: a stub that `xcrun --find` reports is told from a compiler here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shaderc_tool.diagnostics import Diagnostic, ShaderpackError, ToolMissingError
from shaderc_tool.toolchains.apple import child_env, version_argv
from shaderc_tool.toolchains.apple_diagnose import (
    COMPONENT_ARGV,
    XCODE_ARGV,
    Component,
    Host,
    diagnose,
    no_xcrun,
    parse_component,
    parse_xcode_build,
)
from shaderc_tool.toolchains.apple_targets import AppleTarget
from shaderc_tool.toolchains.glsl import tidy_version

Probe = Callable[[list[str], Mapping[str, str]], "tuple[int, str]"]
"""Runs an argument list with extra environment; gives exit status and text. Raises ShaderpackError (SP3001)."""


@dataclass(frozen=True)
class AppleToolchain:
    """Compiler and linker that answered. `component` is the identifier to set, empty when the default look-up works.

    No path is kept: the component's mount point changes at every boot, its version does not.
    """

    metal: str
    metallib: str
    component: str = ""

    @property
    def identity(self) -> str:
        """What goes into every cache key of this toolchain."""
        return f"{self.metal}; {self.metallib}"

    @property
    def env(self) -> dict[str, str]:
        return child_env(self.component)


def find_apple(target: AppleTarget, probe: Probe) -> AppleToolchain:
    """The toolchain for the target's SDK. Raises ToolMissingError (SP2003, SP2011 to SP2018) with one fix."""
    component = ""
    status, text = _ask(probe, version_argv(target, "metal"), component)
    if status != 0:
        host = _ask_host(probe)
        if host.component and host.component.installed and host.component.identifier:
            component = host.component.identifier
            status, text = _ask(probe, version_argv(target, "metal"), component)
        if status != 0:
            raise ToolMissingError(diagnose(status, "", text, "metal", host) or _does_not_run("metal", text))
    status, linker = _ask(probe, version_argv(target, "metallib"), component)
    if status != 0:
        raise ToolMissingError(diagnose(status, "", linker, "metallib") or _does_not_run("metallib", linker))
    return AppleToolchain(tidy_version(text), tidy_version(linker), component)


def _ask(probe: Probe, argv: tuple[str, ...], component: str) -> tuple[int, str]:
    try:
        return probe(list(argv), child_env(component))
    except ShaderpackError as error:
        raise ToolMissingError(no_xcrun(argv[-2])) from error


def _ask_host(probe: Probe) -> Host:
    """The component and Xcode's build; what cannot be asked stays unknown."""
    component: Component | None = None
    build = ""
    try:
        component = parse_component(probe(list(COMPONENT_ARGV), {})[1])
        build = parse_xcode_build(probe(list(XCODE_ARGV), {})[1])
    except ShaderpackError:
        pass
    return Host(component, build)


def _does_not_run(tool: str, text: str) -> Diagnostic:
    return Diagnostic(
        "SP2003",
        f"{tool} was found but does not answer --version",
        cause="see its own text",
        fix="run `shaderpack doctor`",
        subject=tool,
        detail=text,
    )
