"""Mutated artifacts of every kind: the gate says what it finds, in bounded time and memory, and never dies."""

from __future__ import annotations

import io
import random
import resource
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from shaderc_tool.audit.artifacts import describe_bytes
from shaderc_tool.audit.baseline import take
from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.emit.archive import Member, gnu_archive, universal
from tests.audit.support import IOS_LIBRARY, MACOS_LIBRARY, MODULE, SOURCE, assemble, audit, embedding, started, write
from tests.formats.test_containers import _pe

SECONDS = 2.0
MEMORY = 1 << 30
NUMBERS = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 0x10000)


def air() -> bytes:
    """A real module, from the portable compiler's own writer by way of LLVM."""
    llvm = pytest.importorskip("llvmlite.binding")
    text = 'target triple = "air64-apple-macosx14.0.0"\ndefine void @kernel_k(float* %x) { ret void }\n'
    text += "!air.kernel = !{!0}\n!0 = !{void (float*)* @kernel_k, !1, !2}\n!1 = !{}\n!2 = !{!3}\n"
    text += '!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.arg_name", !"x"}\n'
    module = llvm.parse_assembly(text)
    data: bytes = module.as_bitcode()
    return data


def seeds(folder: Path) -> dict[str, bytes]:
    """One sound artifact of each kind."""
    library, module, source = (
        write(folder, f"blob{i}", data) for i, data in enumerate((MACOS_LIBRARY, MODULE, SOURCE.encode()))
    )
    elf_text = embedding("demo_add", module, len(MODULE)) + started("a_metallib", source)
    mach_o_text = ".build_version ios, 17, 0\n" + embedding("demo", library, len(MACOS_LIBRARY), elf=False)
    mach_o_text += started("a_metallib", source, elf=False)
    elf = assemble(elf_text, "x86_64-linux-gnu", folder, "elf.o").read_bytes()
    mach_o = assemble(mach_o_text, "arm64-apple-ios", folder, "macho.o").read_bytes()
    coff_text = ".data\n.globl demo_len\ndemo_len: .quad 1\n.globl demo_data\ndemo_data: .quad 2\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/default.metallib", IOS_LIBRARY)
        archive.writestr("a/k.spv", MODULE)
        archive.writestr("a/k.metal", SOURCE)
    return {
        "metallib": MACOS_LIBRARY,
        "air": air(),
        "spv": MODULE,
        "metal": SOURCE.encode(),
        "elf": elf,
        "macho": mach_o,
        "coff": assemble(coff_text, "x86_64-windows-msvc", folder, "coff.o").read_bytes(),
        "dll": _pe(MACOS_LIBRARY),
        "a": gnu_archive([Member("one.o", elf, ()), Member("a_member_with_a_long_name.o", mach_o, ())]),
        "fat": universal({"arm64": mach_o}),
        "zip": packed.getvalue(),
    }


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The data with one to eight faults: flipped bits, extreme numbers, cuts, moved and repeated parts."""
    out = bytearray(data)
    faults: list[Callable[[], None]] = [
        lambda: out.__setitem__(chance.randrange(len(out)), chance.randrange(256)),
        lambda: _number(out, chance),
        lambda: out.__delitem__(slice(chance.randrange(len(out)), None)) if chance.random() < 0.2 else None,
        lambda: _repeat(out, chance),
        lambda: _flip(out, chance),
    ]
    for _ in range(chance.randint(1, 8)):
        if len(out) > 16:
            chance.choice(faults)()
    return bytes(out)


def _number(out: bytearray, chance: random.Random) -> None:
    """Sizes, counts and offsets stand on words, and near the front more often than not."""
    at = chance.randrange(min(len(out), 256 if chance.random() < 0.6 else len(out)) // 4) * 4
    form = chance.choice(["<I", ">I", "<H", "<Q"])
    size = struct.calcsize(form)
    value = chance.choice(NUMBERS) & ((1 << 8 * size) - 1)
    out[at : at + size] = struct.pack(form, value)[: len(out) - at]


def _repeat(out: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(out))
    piece = out[start : start + chance.randint(1, 64)]
    at = chance.randrange(len(out))
    out[at:at] = piece


def _flip(out: bytearray, chance: random.Random) -> None:
    out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)


def run(folder: Path, rounds: dict[str, int], seed: int) -> int:
    """Audit mutated files; the number of files. Time is the process's own, so that a busy machine does not count."""
    sound = seeds(folder)
    chance = random.Random(seed)
    done = 0
    for kind, data in sound.items():
        for number in range(rounds.get(kind, rounds[""])):
            path = write(folder, f"fuzzed.{kind}", mutated(data, chance))
            begun = time.process_time()
            findings = audit(path, required=("kernel_add",), stds=("metal2.4",))
            take([describe_bytes(path.read_bytes(), "again")] if number % 16 == 0 else [])
            assert time.process_time() - begun < SECONDS, (kind, number)
            assert all(isinstance(finding, Diagnostic) for finding in findings)
            done += 1
    return done


def test_sound_seeds_are_sound(tmp_path: Path) -> None:
    for kind, data in seeds(tmp_path).items():
        faults = [d for d in audit(write(tmp_path, f"sound.{kind}", data)) if d.code in ("SP4002", "SP4009")]
        assert not faults, kind


def test_some_mutated_files_of_each_kind(tmp_path: Path) -> None:
    assert run(tmp_path, {"": 40, "air": 4}, seed=1) == 404


@pytest.mark.corpus
def test_ten_thousand_mutated_files(tmp_path: Path) -> None:
    assert run(tmp_path, {"": 980, "air": 200}, seed=2) == 10_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < MEMORY
