"""Manifest text to checked values: shape first, then meaning; every fault of the file in one run."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

from shaderc_tool.diagnostics import Diagnostic, Place, ShaderpackError, UsageError, has_errors
from shaderc_tool.manifest.audit_keys import load_audit
from shaderc_tool.manifest.expand import Context, expand_kernels, expand_variants
from shaderc_tool.manifest.model import AuditRules, Manifest, MetalUnit, Policy, ShaderJob, Target
from shaderc_tool.manifest.nodes import Node, parse
from shaderc_tool.manifest.outputs import load_outputs
from shaderc_tool.manifest.patches import load_patches
from shaderc_tool.manifest.spec import MANIFEST, SCHEMA_VERSION


def load_manifest(path: Path) -> Manifest:
    """Read and check a manifest. Raises UsageError with every fault found (exit code 2)."""
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(
            Diagnostic(
                "SP1014",
                f"cannot read the manifest {path}: {error.strerror}",
                cause="the path is wrong or not readable",
                fix="give the path of a manifest; `shaderpack init` writes one",
            )
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            Diagnostic(
                "SP1001",
                "the manifest is not UTF-8",
                Place(path.name),
                cause=str(error),
                fix="save it as UTF-8",
            )
        ) from error
    return parse_manifest(text, path.name, path.parent)


def parse_manifest(text: str, file: str, folder: Path) -> Manifest:
    """Check a manifest's text; `folder` is where it lies, `file` is its name in diagnostics.

    Raises UsageError, or ShaderpackError when all that is wrong are duplicate symbols.
    """
    node, found = parse(text, file)
    MANIFEST.check(node, "", found)
    manifest = _Loader(node, file, folder, found).load(hashlib.sha256(text.encode()).hexdigest())
    if has_errors(found):
        found.sort(key=lambda d: (d.place.line, d.place.column) if d.place else (0, 0))
        # A duplicate symbol is a finding of the gate (exit 1), only made before any compiler runs.
        only_gate = all(d.code.startswith("SP4") for d in found)
        raise ShaderpackError(*found) if only_gate else UsageError(*found)
    return manifest


class _Loader:
    def __init__(self, node: Node, file: str, folder: Path, found: list[Diagnostic]) -> None:
        self.node = node
        self.file = file
        self.found = found
        self.folder = folder.absolute()
        default_root = self.folder.parent if self.folder.name == "manifests" else self.folder
        given = node.get("root")
        self.root = Path(posixpath.normpath((self.folder / given.string()).as_posix())) if given else default_root
        self.faulty = tuple(d.subject for d in found)

    def load(self, digest: str) -> Manifest:
        self._check_schema()
        targets = self._targets()
        include = tuple(p for n in self._list("include") if (p := self.path(n, must_exist=True)) is not None)
        context = Context(
            defaults=self.node.get("defaults") or Node(self.node.place, entries={}),
            source_folders=self._source_folders(),
            targets=targets,
            found=self.found,
            is_sound=self.is_sound,
            inside=self.inside,
        )
        shaders, metal = expand_kernels(self.node.get("kernels"), context)
        shaders += expand_variants(self.node.get("variants"), context)
        self._check_unique(shaders, metal)
        policies = tuple(self._policy(n) for n in self._list("policies", "policies"))
        shaders = [apply_policies(job, policies) for job in shaders]
        if not shaders and not metal and not has_errors(self.found):
            self.found.append(
                Diagnostic(
                    "SP1013",
                    "the manifest declares no kernel and no variant",
                    self.node.place,
                    cause="there is nothing to build",
                    fix="add `kernels:`; `shaderpack init` shows how",
                )
            )
        pack = self.node.get("pack")
        return Manifest(
            file=self.file,
            root=self.root,
            pack=pack.string() if pack else "",
            digest=digest,
            include=include,
            targets=targets,
            shaders=tuple(shaders),
            metal=tuple(metal),
            policies=policies,
            outputs=load_outputs(
                self._list("outputs"), targets, metal, pack.string() if pack else "", lambda n: self.path(n), self.found
            ),
            audit=self._audit(targets),
            patches=load_patches(self._list("patches", "patches"), targets, self.root, self.path, self.found),
        )

    # --- pieces

    def is_sound(self, path: str) -> bool:
        """No shape fault at or below `path`, so its nodes can be read without further checks."""
        return not any(f == path or f.startswith((path + ".", path + "[")) for f in self.faulty)

    def inside(self, relative: str, node: Node) -> str | None:
        """`relative` (to the root) normalised, or None with a diagnostic when it leaves the root."""
        normal = posixpath.normpath(relative)
        absolute = posixpath.isabs(node.string()) or re.match(r"[A-Za-z]:", node.string()) is not None
        if absolute or normal == ".." or normal.startswith("../"):
            self.found.append(
                Diagnostic(
                    "SP1008",
                    f"«{node.string()}» lies outside the manifest's root",
                    node.place,
                    cause="paths stay inside the root, so that a manifest can be moved and shared",
                    fix="move the file, or set `root:` to a folder that holds both",
                    subject=node.string(),
                )
            )
            return None
        return normal

    def path(self, node: Node, *, must_exist: bool = False) -> str | None:
        """A manifest path (relative to the manifest's folder) as a path relative to the root."""
        base = self._folder_below_root(node)
        if base is None:
            return self.inside("..", node)
        relative = self.inside(posixpath.join(base, node.string()), node)
        if relative is not None and must_exist and not (self.root / relative).is_dir():
            self.found.append(
                Diagnostic(
                    "SP1008",
                    f"the folder «{node.string()}» is not there",
                    node.place,
                    cause="no folder at this place",
                    fix="correct the path; it is relative to the manifest",
                    subject=node.string(),
                )
            )
        return relative

    def _folder_below_root(self, node: Node) -> str | None:
        try:
            return self.folder.relative_to(self.root).as_posix()
        except ValueError:
            return None

    def _list(self, key: str, path: str = "") -> Iterable[Node]:
        node = self.node.get(key)
        if node is None or not self.is_sound(key):
            return
        items = node.items if node.items is not None else (node,)
        yield from items

    def _check_schema(self) -> None:
        node = self.node.get("schema")
        if node is not None and node.string() != SCHEMA_VERSION:
            self.found.append(
                Diagnostic(
                    "SP1007",
                    f"schema {node.string()} is not supported",
                    node.place,
                    cause=f"this shaderpack reads schema {SCHEMA_VERSION}",
                    fix=f"write `schema: {SCHEMA_VERSION}`, or use a shaderpack that knows the newer schema",
                    subject="schema",
                )
            )

    def _source_folders(self) -> dict[str, str]:
        node = self.node.get("sources")
        folders = {"vulkan": ".", "metal": "."}
        here = self._folder_below_root(self.node)
        if here is not None:
            folders = dict.fromkeys(folders, here)
        if node is not None and self.is_sound("sources"):
            for api, value in node.pairs():
                folder = self.path(value, must_exist=True)
                if folder is not None:
                    folders[api] = folder
        return folders

    def _targets(self) -> dict[str, Target]:
        node = self.node.get("targets")
        targets: dict[str, Target] = {}
        if node is None or node.entries is None:
            return targets
        for name, entry in node.pairs():
            if self.is_sound(f"targets.{name}"):
                targets[name] = self._target(name, entry)
        return targets

    def _target(self, name: str, entry: Node) -> Target:
        api = entry["api"].string()

        def text(key: str, default: str = "") -> str:
            value = entry.get(key)
            return value.string() if value else default

        belongs = {"vulkan": ("env", "spv"), "metal": ("sdk", "min_os", "std", "sdk_version")}
        for other, keys in belongs.items():
            for key in keys if other != api else ():
                if entry.get(key) is not None:
                    self.found.append(
                        Diagnostic(
                            "SP1002",
                            f"«{key}» does not apply to a {api} target",
                            entry.key_places[key],
                            cause=f"it belongs to {other} targets",
                            fix="remove it",
                            subject=f"targets.{name}.{key}",
                        )
                    )
        if api == "metal":
            for key in ("sdk", "min_os", "std"):
                if entry.get(key) is None:
                    self.found.append(
                        Diagnostic(
                            "SP1003",
                            f"the Metal target «{name}» lacks the key «{key}»",
                            entry.place,
                            cause="without it the SDK's own version would silently become the floor",
                            fix=f"add `{key}: …`",
                            subject=f"targets.{name}.{key}",
                        )
                    )
        return Target(
            name=name,
            api=api,
            place=entry.place,
            env=text("env", "vulkan1.2") if api == "vulkan" else "",
            spv=text("spv"),
            sdk=text("sdk"),
            min_os=text("min_os"),
            sdk_version=text("sdk_version"),
            std=text("std"),
            optional=text("optional") == "true",
        )

    def _policy(self, entry: Node) -> Policy:
        when = entry["when"]

        def globs(key: str) -> tuple[str, ...]:
            value = when.get(key)
            return value.texts() if value else ()

        return Policy(
            entry["optimize"].string(),
            entry["reason"].string(),
            entry.place,
            globs("capability"),
            globs("extension"),
            globs("kernel"),
            globs("symbol"),
        )

    def _audit(self, targets: dict[str, Target]) -> AuditRules:
        node = self.node.get("audit")
        if node is None or not self.is_sound("audit"):
            return AuditRules()
        return load_audit(node, lambda n: self.path(n), targets, self.found)

    def _check_unique(self, shaders: list[ShaderJob], metal: list[MetalUnit]) -> None:
        outputs = [(job.output, job.symbol, job.place) for job in shaders]
        outputs += [(f"{u.target}:{f.name}", f.name, f.place) for u in metal for f in u.functions]
        outputs += [(u.output, u.output, u.place) for u in metal]
        first: dict[str, Place] = {}
        for key, name, place in outputs:
            if key in first:
                self.found.append(
                    Diagnostic(
                        "SP4004",
                        f"«{name}» is made twice for one target",
                        place,
                        cause=f"it is declared first at {first[key]}",
                        fix="rename one of the two; in variants, put every axis into the symbol",
                        subject=name,
                    )
                )
            first.setdefault(key, place)


def apply_policies(job: ShaderJob, policies: Iterable[Policy]) -> ShaderJob:
    """The job with the first policy that matches by kernel or symbol alone; module policies come after the compile."""
    from dataclasses import replace
    from fnmatch import fnmatchcase

    for policy in policies:
        if policy.needs_module:
            continue
        matches = (policy.kernels, job.kernel), (policy.symbols, job.symbol)
        if all(not globs or any(fnmatchcase(name, g) for g in globs) for globs, name in matches):
            return replace(job, optimize=policy.optimize, optimize_reason=policy.reason)
    return job
