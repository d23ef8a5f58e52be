"""`shaderpack verify` as a function: the built artifacts, a backend, the cases; results and evidence out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shaderc_tool.diagnostics import Diagnostic, UsageError
from shaderc_tool.manifest.model import Manifest
from shaderc_tool.verify.backend import Backend, DeviceInfo
from shaderc_tool.verify.cases import REFERENCES, cases
from shaderc_tool.verify.runner import Kernel, KernelResult, verify_kernel

Show = Callable[["Verified"], None]


@dataclass(frozen=True)
class Job:
    """A built kernel, the reference that it is compared with, and where its bytes lie."""

    kernel: Kernel
    reference: str
    output: str
    target: str
    sha256: str


@dataclass(frozen=True)
class Verified:
    """One kernel's outcome."""

    job: Job
    result: KernelResult
    device: DeviceInfo


def jobs_for(manifest: Manifest, folder: Path, backend: str) -> list[Job]:
    """The kernels that this backend can run. Raises UsageError (SP5007, SP1014) for what was not built or declared."""
    jobs = list(_vulkan_jobs(manifest, folder) if backend == "vulkan" else _metal_jobs(manifest, folder))
    unknown = [job for job in jobs if job.reference not in REFERENCES]
    if unknown:
        raise UsageError(*(_unknown_reference(job) for job in unknown))
    if not jobs:
        raise UsageError(
            Diagnostic(
                "SP1013",
                f"no kernel of this manifest can be verified by the backend {backend}",
                cause="a kernel needs `verify:` and `grid:`, and a target of the backend's API",
                fix="declare them; docs/manifest.md shows how",
            )
        )
    return jobs


def _vulkan_jobs(manifest: Manifest, folder: Path) -> Iterator[Job]:
    for job in manifest.shaders:
        interface = job.interface
        if not job.verify or not interface.grid:
            continue
        data = _read(folder, job.output)
        kernel = Kernel(
            name=job.symbol,
            binary=data,
            entry=interface.entry,
            bindings=dict(enumerate(interface.bindings or ())),
            constants=tuple(m.name for m in interface.push_constants or ()),
            grid=interface.grid,
        )
        yield Job(kernel, job.verify, job.output, job.target, hashlib.sha256(data).hexdigest())


def _metal_jobs(manifest: Manifest, folder: Path) -> Iterator[Job]:
    libraries: dict[str, bytes] = {}
    for unit in manifest.metal:
        output = f"{unit.target}/default.metallib"
        for function in unit.functions:
            if not function.verify or not function.grid:
                continue
            if output not in libraries:
                libraries[output] = _read(folder, output)
            data = libraries[output]
            kernel = Kernel(
                name=f"{unit.target}:{function.name}",
                binary=data,
                entry=function.name,
                bindings={i: role for i, role in enumerate(function.buffers) if role != "args"},
                constants=tuple(m.name for m in function.args),
                grid=function.grid,
                threadgroup=function.threadgroup,
            )
            yield Job(kernel, function.verify, output, unit.target, hashlib.sha256(data).hexdigest())


def verify_all(jobs: Sequence[Job], backend: Backend, show: Show, *, large: bool, repeats: int = 1) -> list[Verified]:
    """Run every job's cases. `large` includes the cases with more than 65535 work-groups."""
    found = []
    for job in jobs:
        chosen = [case for case in cases(job.reference) if large or not case.large]
        verified = Verified(job, verify_kernel(backend, job.kernel, chosen, repeats=repeats), backend.info)
        show(verified)
        found.append(verified)
    return found


def evidence(backend: str, verified: Sequence[Verified]) -> dict[str, Any]:
    """What capabilities.json picks up: digests, device, driver and errors."""
    device = verified[0].device
    return {
        "schema": 1,
        "backend": backend,
        "device": device.name,
        "driver": device.driver,
        "software": device.software,
        "entries": [
            {
                "output": v.job.output,
                "symbol": v.job.kernel.entry if backend != "vulkan" else v.job.kernel.name,
                "sha256": v.job.sha256,
                "reference": v.job.reference,
                "cases": len(v.result.cases),
                "skipped": len(v.result.skipped),
                "max_abs": v.result.max_abs,
                "max_rel": v.result.max_rel,
                "ok": v.result.passed,
            }
            for v in verified
        ],
    }


def _read(folder: Path, output: str) -> bytes:
    try:
        return (folder / output).read_bytes()
    except OSError as error:
        raise UsageError(
            Diagnostic(
                "SP1014",
                f"{output} is not there to be verified",
                cause=str(error),
                fix="run `shaderpack build` first, or give --out",
                subject=output,
            )
        ) from error


def _unknown_reference(job: Job) -> Diagnostic:
    return Diagnostic(
        "SP1011",
        f"{job.kernel.name}: there is no reference «{job.reference}»",
        cause="known: " + ", ".join(sorted(REFERENCES)),
        fix="correct `verify:` in the manifest",
        subject=job.kernel.name,
    )
