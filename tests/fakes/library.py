"""Write a Metal library container from nothing but its layout: 88-byte header, function list, three sections.

It is kept apart from the package's own writer on purpose: they check each other.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Sequence

_TRIPLE = re.compile(r"air64-apple-(?P<os>[a-z]+)(?P<version>[\d.]+)(?:-(?P<environment>\w+))?")
_PLATFORM = {
    ("macos", None): 1,
    ("ios", None): 2,
    ("tvos", None): 3,
    ("watchos", None): 4,
    ("ios", "macabi"): 6,
    ("ios", "simulator"): 7,
    ("tvos", "simulator"): 8,
    ("xros", None): 11,
    ("xros", "simulator"): 12,
}
_AIR_MINOR = {(3, 0): 5, (3, 1): 6, (3, 2): 7, (4, 0): 8}
_KERNEL = 2
_EMPTY_METADATA = struct.pack("<I", 4) + b"ENDT"


def library(triple: str, kernels: Sequence[tuple[str, str]]) -> bytes:
    """A library for `triple` with the kernels (name, language version such as `3.1`); their bitcode is a stand-in."""
    match = _TRIPLE.fullmatch(triple)
    assert match, triple
    platform = _PLATFORM[match["os"], match["environment"]]
    major, minor, update = ([int(part) for part in match["version"].split(".")] + [0, 0])[:3]
    groups, bitcode = b"", b""
    for index, (name, language) in enumerate(kernels):
        code = struct.pack("<5I", 0x0B17C0DE, 0, 20, 12, 0xFFFFFFFF) + f"{index:012}".encode()
        groups += _group(name, language, code, index * len(_EMPTY_METADATA), len(bitcode))
        bitcode += code
    metadata = _EMPTY_METADATA * len(kernels)
    listed = struct.pack("<I", len(kernels)) + groups + b"ENDT"
    public = 88 + len(listed)
    private = public + len(metadata)
    code_at = private + len(metadata)
    family = 0x8001 if platform in (1, 6) else 0x0001
    header = struct.pack("<4sHHHBB", b"MTLB", family, 2, 7, 0, 0x80 | platform)
    header += struct.pack("<HBB", major, minor, update)
    header += struct.pack("<Q", code_at + len(bitcode))
    # The stored size of the function list leaves out its count, and the extension that ends in ENDT.
    header += struct.pack("<8Q", 88, len(groups), public, len(metadata), private, len(metadata), code_at, len(bitcode))
    return header + listed + metadata * 2 + bitcode


def _group(name: str, language: str, code: bytes, metadata_at: int, code_at: int) -> bytes:
    major, minor = (int(part) for part in language.split("."))
    air = _AIR_MINOR.get((major, minor), 4)
    tags = [
        (b"NAME", name.encode() + b"\0"),
        (b"TYPE", bytes([_KERNEL])),
        (b"HASH", hashlib.sha256(code).digest()),
        (b"MDSZ", struct.pack("<Q", len(code))),
        (b"OFFT", struct.pack("<3Q", metadata_at, metadata_at, code_at)),
        (b"VERS", struct.pack("<HBBHBB", 2, air, 0, major, minor, 0)),
    ]
    body = b"".join(tag + struct.pack("<H", len(value)) + value for tag, value in tags) + b"ENDT"
    return struct.pack("<I", len(body) + 4) + body
