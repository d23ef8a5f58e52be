"""The pure planner: jobs, source facts and the last state in; actions with a verdict and a reason out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from shaderc_tool.build.sources import Closure, SourceIndex
from shaderc_tool.manifest.model import ShaderJob

MAKE = "make"
KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Action:
    """One output to make or keep. `key` names its content; `parts` say what went into the key, for `--explain`.

    `verdict` is MAKE or KEEP; `reason` is the sentence that report.json and --explain show.
    """

    output: str
    kind: str
    subject: str
    key: str
    parts: dict[str, str]
    closure: Closure
    verdict: str
    reason: str


def shader_parts(job: ShaderJob, closure: Closure, tool: str, policy: str, include: str) -> dict[str, str]:
    """Everything that can change a SPIR-V module's bytes."""
    return {
        "tool": tool,
        "env": f"{job.env} {job.spv}",
        "optimize": job.optimize,
        "layout": job.layout,
        "validate": job.validate,
        "debug": str(job.debug),
        "policies": policy,
        "include": include,
        "defines": "\n".join(f"{name}={value}" for name, value in job.defines),
        "sources": closure.digest,
    }


def key_of(parts: dict[str, str], kind: str) -> str:
    """The content key: SHA-256 over the kind and all parts."""
    text = "\0".join([kind, *(f"{name}\1{value}" for name, value in parts.items())])
    return hashlib.sha256(text.encode()).hexdigest()


def plan_shaders(
    jobs: Iterable[ShaderJob],
    index: SourceIndex,
    outputs: dict[str, dict[str, Any]],
    signature: Callable[[str], str],
    tool: str,
    policy: str,
) -> list[Action]:
    """Decide for every job whether its module must be made. `signature` gives an output's stat signature now."""
    include = ":".join(index.include)
    actions = []
    for job in jobs:
        closure = index.closure(job.file)
        parts = shader_parts(job, closure, tool, policy, include)
        key = key_of(parts, "spirv")
        output = job.output
        verdict, reason = decide(outputs.get(output), key, parts, closure, index, signature(output))
        actions.append(Action(output, "spirv", job.kernel, key, parts, closure, verdict, reason))
    return actions


def decide(
    before: dict[str, Any] | None,
    key: str,
    parts: dict[str, str],
    closure: Closure,
    index: SourceIndex,
    stamp: str,
) -> tuple[str, str]:
    """Verdict and reason for one output, from what the last build recorded of it."""
    if before is None:
        return MAKE, "first build of this output"
    if before["key"] != key:
        return MAKE, _difference(before["parts"], parts, closure, index)
    if not stamp:
        return MAKE, "the output is missing"
    if before["signature"] != stamp:
        return MAKE, "the output was changed by something else"
    touched = [f for f in closure.files if index.changed(f) == "comments"]
    return KEEP, f"only comments changed in {touched[0]}" if touched else "nothing changed"


def _difference(old: dict[str, str], new: dict[str, str], closure: Closure, index: SourceIndex) -> str:
    for name, value in new.items():
        before = old.get(name, "")
        if before == value:
            continue
        if name == "sources":
            return _source_difference(closure, index)
        if name == "tool":
            return f"the toolchain changed: «{before}» → «{value}»"
        if name == "defines":
            return f"the macros changed: «{_inline(before)}» → «{_inline(value)}»"
        if name == "policies":
            return "the optimization policies changed"
        return f"{name} changed: «{before.strip()}» → «{value.strip()}»"
    return "the key changed"


def _source_difference(closure: Closure, index: SourceIndex) -> str:
    words = {"code": "changed", "new": "is new", "gone": "is gone"}
    for file in closure.files:
        change = index.changed(file)
        if change in words:
            return f"{file} {words[change]}"
    return "the set of include files changed"


def _inline(text: str) -> str:
    return text.replace("\n", " ")
