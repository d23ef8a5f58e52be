"""Turns the fault that the scheduler recorded into an error that names thread, place and buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from shaderc_tool.formats.air import EntryPoint
from shaderc_tool.verify.air_cpu.control import Control
from shaderc_tool.verify.air_cpu.errors import (
    AirCpuError,
    BarrierDivergenceError,
    DeadlockError,
    IncompleteSimdgroupError,
    OutOfBoundsError,
    StackOverflowError,
    TimeLimitError,
)
from shaderc_tool.verify.air_cpu.instrument import Site
from shaderc_tool.verify.air_cpu.pointers import Root


@dataclass(frozen=True)
class Region:
    """A range of memory that the kernel may touch: addresses [low, high) and how to call it."""

    low: int
    high: int
    name: str


def raise_fault(
    control: Control,
    entry: EntryPoint,
    sites: Sequence[Site],
    regions: dict[str, Region],
) -> NoReturn:
    """Raise the error for `control.fault`. `regions` is keyed by parameter (`%n`) or global (`@name`)."""
    fault = control.fault
    where = f"thread {_thread(control, fault.thread)} of threadgroup {tuple(control.position)}"
    site = sites[fault.site] if fault.site < len(sites) else Site("")
    name = entry.name
    match fault.code:
        case 1:
            message, cause = _out_of_bounds(fault.a, fault.b, site, regions)
            raise OutOfBoundsError(f"{name}: {where} {message}", subject=name, cause=cause)
        case 2:
            raise BarrierDivergenceError(
                f"{name}: threads of threadgroup {tuple(control.position)} wait at different barriers",
                subject=name,
                cause=f"{where} waits at barrier {_barrier(sites, fault.site)}, an earlier thread at barrier "
                f"{_barrier(sites, fault.a)} in program order",
                fix="make every thread of a threadgroup reach the same barriers in the same order",
            )
        case 3:
            raise DeadlockError(
                f"{name}: threadgroup {tuple(control.position)} spins on atomic values that nobody changes",
                subject=name,
                fix="do not wait for a thread or threadgroup that may not run at the same time",
            )
        case 4:
            raise TimeLimitError(f"{name}: time limit exceeded in {where}", subject=name, fix="raise time_limit")
        case 5:
            raise StackOverflowError(f"{name}: {where} overflowed its stack", subject=name)
        case 6:
            lanes = fault.a.bit_count()
            raise IncompleteSimdgroupError(
                f"{name}: a matrix product is reached by {lanes} of 32 lanes in threadgroup {tuple(control.position)}",
                subject=name,
                fix="use whole simdgroups and uniform control flow around simdgroup_matrix functions",
            )
    raise AirCpuError(f"{name}: unknown fault {fault.code}", subject=name)


def _thread(control: Control, index: int) -> tuple[int, int, int]:
    x, y = max(1, control.extent[0]), max(1, control.extent[1])
    return index % x, index // x % y, index // (x * y)


def _barrier(sites: Sequence[Site], number: int) -> int:
    """Which barrier of the kernel a site is, counted from 1 in program order."""
    return sum(1 for site in sites[: number + 1] if site.what == "air.wg.barrier")


def _out_of_bounds(address: int, size: int, site: Site, regions: dict[str, Region]) -> tuple[str, str]:
    region = regions.get(_key(site.root)) if site.root else None
    verb = site.what.removeprefix("air.")
    if site.root and site.root.kind == "alloca":
        return f"{verb} {size} bytes outside of a private array", "the array lies in the thread's own memory"
    if region is None:
        near = min(regions.values(), key=lambda item: _distance(item, address), default=None)
        place = f", {_distance(near, address)} bytes from {near.name}" if near else ""
        return f"{verb} {size} bytes at {address:#x}{place}", "the address lies in no buffer that was passed"
    if region.low == region.high == 2**64 - 1:
        return f"{verb} {region.name}, which was not passed", "the buffer is None"
    held = region.high - region.low
    offset = (address - region.low + 2**63) % 2**64 - 2**63
    return f"{verb} {size} bytes at byte {offset} of {region.name}", f"it holds {held} bytes"


def _key(root: Root) -> str:
    return f"@{root.name}" if root.kind == "global" else root.name


def _distance(region: Region, address: int) -> int:
    return max(region.low - address, address - region.high, 0)
