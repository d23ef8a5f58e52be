"""The manifest as frozen values. Paths are relative to `Manifest.root`, with forward slashes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from shaderc_tool.diagnostics import Place

Defines = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Target:
    """One thing to build for. `env`, `spv` belong to Vulkan; `sdk`, `min_os`, `std` to Metal."""

    name: str
    api: str
    place: Place
    env: str = ""
    spv: str = ""
    sdk: str = ""
    min_os: str = ""
    sdk_version: str = ""
    std: str = ""
    optional: bool = False


@dataclass(frozen=True)
class Member:
    """One push-constant or argument-struct member; `type` is a GLSL / MSL scalar name, `uint` by default."""

    name: str
    type: str = "uint"


@dataclass(frozen=True)
class Interface:
    """What the manifest declares of a Vulkan entry; None means not declared, so not checked."""

    entry: str = "main"
    local_size: tuple[int, ...] | None = None
    bindings: tuple[str, ...] | None = None
    push_constants: tuple[Member, ...] | None = None
    grid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShaderJob:
    """One SPIR-V module to make: what `expand` turns kernels and variants into."""

    kernel: str
    target: str
    symbol: str
    file: str
    place: Place
    env: str
    spv: str
    defines: Defines
    optimize: str
    layout: str
    debug: bool
    interface: Interface
    verify: str = ""
    optimize_reason: str = ""
    validate: str = "error"

    @property
    def output(self) -> str:
        """The module's path below `DIR/<pack>/`."""
        return f"{self.target}/{self.symbol}.spv"


@dataclass(frozen=True)
class MetalFunction:
    """One kernel that a Metal source must give. `buffers` are argument names by index; "args" is the struct's."""

    name: str
    place: Place
    buffers: tuple[str, ...] = ()
    args: tuple[Member, ...] = ()
    threadgroup: tuple[int, ...] = ()
    grid: tuple[str, ...] = ()
    verify: str = ""
    requires_std: str = ""

    def is_wanted(self, std: str) -> bool:
        """False when `requires_std` is newer than the language version `std`, such as metal2.4."""
        return not self.requires_std or _std_number(self.requires_std) <= _std_number(std)


def _std_number(std: str) -> tuple[int, ...]:
    return tuple(int(part) for part in std.removeprefix("metal").split("."))


@dataclass(frozen=True)
class MetalUnit:
    """One Metal source for one target: one `.air`."""

    kernel: str
    target: str
    file: str
    place: Place
    functions: tuple[MetalFunction, ...]
    defines: Defines
    optimize: str
    math: str
    debug: bool

    @property
    def output(self) -> str:
        """The AIR file's path below `DIR/<pack>/`."""
        stem = self.file.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        return f"{self.target}/{stem}.air"


@dataclass(frozen=True)
class Policy:
    """An optimization rule. Each tuple holds globs, any of which may match; an empty one matches everything."""

    optimize: str
    reason: str
    place: Place
    capabilities: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()

    @property
    def needs_module(self) -> bool:
        return bool(self.capabilities or self.extensions)


@dataclass(frozen=True)
class Output:
    """One packaging request.

    `substitutions` are (name, path relative to the root), `stds` the language versions that the merged source of an
    embed bundle is compiled at, the target's own when empty.
    """

    kind: str
    targets: tuple[str, ...]
    place: Place
    storage: str = "incbin"
    payload: str = "metallib"
    symbol: str = ""
    name: str = ""
    private_extern: bool = False
    section: str = ""
    substitutions: tuple[tuple[str, str], ...] = ()
    stds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Axis:
    """Values of format arguments in a kernel name. `arguments` are the host's expressions, `rows` one value for each.

    With `file` (relative to the root) the rows are the groups of every match of `pattern` there.
    """

    arguments: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()
    file: str = ""
    pattern: str = ""
    lower: bool = False


@dataclass(frozen=True)
class Consumer:
    """Host sources that look kernels up by name. `files` and `unused` are globs, `files` relative to the root."""

    files: tuple[str, ...]
    place: Place
    axes: tuple[Axis, ...] = ()
    prefixes: tuple[str, ...] = ("kernel_",)
    unused: tuple[str, ...] = ()


@dataclass(frozen=True)
class StructHeader:
    """A C or C++ header (relative to the root) with argument structs. Without `struct`, records are found by name."""

    header: str
    place: Place
    struct: str = ""
    kernels: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeviceProfile:
    """What a device can run. `capabilities` and `extensions` are globs; 0 invocations mean that none is declared."""

    name: str
    place: Place
    capabilities: tuple[str, ...]
    extensions: tuple[str, ...] = ()
    spirv: str = ""
    invocations: int = 0
    targets: tuple[str, ...] = ()


@dataclass(frozen=True)
class AuditRules:
    """The gate's rules from the manifest; the declared kernels are required anyway.

    `publishable` names the proofs that a kernel needs, `size_growth` a share in percent.
    """

    require: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    size_budget: tuple[tuple[str, int], ...] = ()
    consumers: tuple[Consumer, ...] = ()
    place: Place | None = None
    structs: tuple[StructHeader, ...] = ()
    profiles: tuple[DeviceProfile, ...] = ()
    publishable: tuple[str, ...] = ("present", "verified")
    size_growth: int = 10


@dataclass(frozen=True)
class PatchCopy:
    """The sources of one target that a patch needs in the other tree. `to` is a path with {stem} and {symbol}."""

    target: str
    to: str


@dataclass(frozen=True)
class PatchSet:
    """One patch file, and the sources that go into the tree with it."""

    file: str
    place: Place
    copies: tuple[PatchCopy, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """A checked manifest, variants expanded."""

    file: str
    root: Path
    pack: str
    digest: str
    include: tuple[str, ...]
    targets: dict[str, Target]
    shaders: tuple[ShaderJob, ...]
    metal: tuple[MetalUnit, ...]
    policies: tuple[Policy, ...] = ()
    outputs: tuple[Output, ...] = ()
    audit: AuditRules = field(default_factory=AuditRules)
    patches: tuple[PatchSet, ...] = ()
