"""What a patch file says, as values. `parse.py` reads them, `docs/llama-cpp.md` explains the format."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final, Literal

from shaderc_tool.diagnostics import Place

Action = Literal["before", "after", "replace"]

BEGIN: Final = ">>> shaderpack"
END: Final = "<<< shaderpack"
_DIGEST_LENGTH: Final = 16
_HASH_COMMENTS: Final = ("CMakeLists.txt", ".cmake", ".py", ".sh", ".mk", ".yaml", ".yml", ".toml")


def digest_of(text: str) -> str:
    """The first 16 hex digits of the SHA-256: enough to tell an edit, short enough for a comment line."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST_LENGTH]


@dataclass(frozen=True)
class Hunk:
    """One edit of one file: `body` goes before or after the lines `anchor`, or in their place.

    All lines are without their line ends. `place` is where the anchor starts in the patch file.
    """

    file: str
    sentinel: str
    anchor: tuple[str, ...]
    action: Action
    body: tuple[str, ...]
    place: Place
    marker: str = ""

    @property
    def digest(self) -> str:
        return digest_of("\n".join(self.body))

    def block(self) -> tuple[str, ...]:
        """The lines that stand in a patched file: a marker with the digest of the body, the body, an end marker."""
        template = self.marker or ("# {}" if self.file.endswith(_HASH_COMMENTS) else "// {}")
        first = next((line for line in self.body if line.strip()), "")
        indent = first[: len(first) - len(first.lstrip())]
        begin = template.replace("{}", f"{BEGIN} {self.sentinel} sha256:{self.digest}")
        end = template.replace("{}", f"{END} {self.sentinel}")
        return (indent + begin, *self.body, indent + end)


@dataclass(frozen=True)
class Version:
    """The hunks for one shape of the upstream source."""

    name: str
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True)
class Guard:
    """Text that must not be in any file that one of the globs matches, and what to do when it is."""

    text: str
    globs: tuple[str, ...]
    fix: str
    place: Place


@dataclass(frozen=True)
class Patch:
    """One patch file. Each version already holds the hunks that all versions share; there is at least one version."""

    name: str
    file: str
    versions: tuple[Version, ...]
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True)
class Copy:
    """A source of the pack that goes into the tree as one self-contained file with a stamp in its first line.

    `text` is the whole content; its first line is the stamp.
    """

    source: str
    destination: str
    text: str
