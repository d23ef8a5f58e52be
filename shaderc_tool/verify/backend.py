"""What a backend that runs kernels has to offer, and the values that go in and out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Binding:
    """One buffer of a dispatch.

    The allocation holds `contents`; the kernel may see its first `visible` bytes (all of them when 0). What lies
    beyond is there to be looked at afterwards. Only buffers with `read_back` appear in the result.
    """

    index: int
    contents: bytes
    read_back: bool = False
    visible: int = 0

    @property
    def bound_bytes(self) -> int:
        return self.visible or len(self.contents)


@dataclass(frozen=True)
class Dispatch:
    """One kernel run: `binary` holds `entry`; `constants` is the push-constant block or argument struct.

    `groups` counts work-groups. `threadgroup` is threads per group and axis where the binary leaves that to the
    caller, as Metal does. With `repeats` > 1 the kernel runs that often and the best time is reported.
    """

    binary: bytes
    entry: str
    buffers: tuple[Binding, ...]
    constants: bytes
    groups: tuple[int, int, int]
    repeats: int = 1
    threadgroup: tuple[int, ...] = ()


@dataclass(frozen=True)
class Result:
    """Contents of the buffers that were to be read back, by binding index, and the time of one run.

    `device_time` says that the device measured it; otherwise it is wall time from submission to completion.
    """

    buffers: Mapping[int, bytes]
    milliseconds: float
    device_time: bool


@dataclass(frozen=True)
class DeviceInfo:
    """What evidence records of the device that ran a kernel. `kind` is "cpu" for software implementations."""

    index: int
    name: str
    kind: str
    driver: str
    api_version: str

    @property
    def software(self) -> bool:
        return self.kind == "cpu"

    def __str__(self) -> str:
        suffix = ", software" if self.software else ""
        return f"{self.name} ({self.driver}{suffix})"


class Backend(Protocol):
    """Runs kernels on one device."""

    @property
    def info(self) -> DeviceInfo: ...

    def run(self, dispatch: Dispatch) -> Result:
        """Run a dispatch to completion. Raises ShaderpackError when the device cannot."""
