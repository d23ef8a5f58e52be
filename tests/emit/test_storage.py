"""Every storage is compiled with real compilers, linked into a program, and read back."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaderc_tool.emit.c_header import c_header, header_name
from shaderc_tool.emit.payload import Payload
from shaderc_tool.emit.storage import STORAGE_KINDS, storage, storage_depfile, storage_name
from tests.emit.support import llvm_tool, run
from tests.tools import require_tool

SPIRV_MAGIC = bytes([0x03, 0x02, 0x23, 0x07])


def spirv_like(symbol: str, size: int) -> Payload:
    """Starts like a module, then holds every byte value and sequences that look like escapes."""
    tricky = b'\x001?\\?=??/\\"%s\n\r\x7f\xff\x00078' + bytes(range(256))
    body = tricky + random.Random(symbol).randbytes(size)
    return Payload(symbol, (SPIRV_MAGIC + body)[:size], f"{symbol}.spv")


PAYLOADS = tuple(spirv_like(f"demo_kernel{i}", size) for i, size in enumerate((1024, 20, 333, 4 * 4096)))

SYMBOLS = {f"{payload.symbol}_{part}" for payload in PAYLOADS for part in ("data", "len")}

CASES = [
    *(("gcc", language, kind) for language in ("c99", "c++17") for kind in STORAGE_KINDS if kind != "embed"),
    *(("clang", language, kind) for language in ("c99", "c++17") for kind in STORAGE_KINDS if kind != "embed"),
    ("clang with #embed", "c23", "embed"),
    ("clang with #embed", "c99", "embed"),
    ("clang with #embed", "c++17", "embed"),
]


WARNINGS = ("-Wall", "-Wextra", "-Werror")


def source_kind(language: str) -> str:
    return "c++" if language.startswith("c++") else "c"


def find_compiler(name: str) -> str:
    """The path of gcc, clang, or of a clang that knows `#embed`."""
    return require_tool("clang-19", "clang-20", "clang-21") if name == "clang with #embed" else require_tool(name)


def global_symbols(output: Path) -> set[str]:
    nm = llvm_tool("llvm-nm")
    return set(run(nm, "--format=just-symbols", "--extern-only", output, cwd=output.parent).split())


def write_pack(folder: Path, kind: str, payloads: tuple[Payload, ...] = PAYLOADS) -> Path:
    """Write header, storage and payload files; the path of the storage text."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / header_name("demo")).write_text(c_header("demo", payloads))
    for name, data in storage(kind, "demo", payloads).items():
        (folder / name).write_bytes(data)
    for payload in payloads:
        (folder / payload.path).write_bytes(payload.data)
    return folder / storage_name(kind, "demo")


def compile_storage(compiler: str, language: str, text: Path, output: Path, *flags: str) -> None:
    """Compile from another working directory, as build systems do."""
    select = [] if text.suffix == ".S" else ["-x", source_kind(language), f"-std={language}"]
    argv = [compiler, *select, *WARNINGS, *flags, "-I", str(text.parent), "-c", str(text), "-o", str(output)]
    run(*argv, cwd=output.parent)


def checker(payloads: tuple[Payload, ...]) -> str:
    """A host program: magic, alignment, length and every byte, against the payload files."""
    checks = "\n".join(
        f'    failures += check("{p.symbol}", {p.symbol}_data, {p.symbol}_len, argv[{i}]);'
        for i, p in enumerate(payloads, 1)
    )
    return f"""
#include "demo-shaders.h"
#include <stdio.h>
#include <string.h>
static unsigned char file[1 << 22];
static int check(const char *name, const unsigned char *data, uint64_t length, const char *path) {{
    FILE *stream = fopen(path, "rb");
    size_t size = stream ? fread(file, 1, sizeof file, stream) : 0;
    uint32_t magic;
    memcpy(&magic, data, sizeof magic);
    if (magic != 0x07230203u) return printf("%s: magic\\n", name);
    if ((uintptr_t)data % 16 != 0) return printf("%s: alignment\\n", name);
    if (length != size) return printf("%s: length\\n", name);
    if (memcmp(data, file, size) != 0) return printf("%s: bytes\\n", name);
    return 0;
}}
int main(int argc, char **argv) {{
    int failures = argc != {len(payloads) + 1};
{checks}
    return failures != 0;
}}
"""


def link_and_check(
    compiler: str, language: str, storage_object: Path, folder: Path, payloads: tuple[Payload, ...]
) -> None:
    program, main = folder / "program", folder / "main.o"
    (folder / "main.c").write_text(checker(payloads))
    select = ["-x", source_kind(language), f"-std={language}", *WARNINGS]
    run(compiler, *select, "-c", folder / "main.c", "-o", main, cwd=folder)
    linker_output = run(compiler, main, storage_object, "-o", program, cwd=folder)
    assert linker_output == ""
    run(program, *(folder / p.path for p in payloads), cwd=folder)


@pytest.mark.parametrize(("compiler", "language", "kind"), CASES)
def test_host_program_reads_the_payloads(compiler: str, language: str, kind: str, tmp_path: Path) -> None:
    compiler = find_compiler(compiler)
    pack = tmp_path / "pack with space é"
    work = tmp_path / "work"
    work.mkdir()
    text = write_pack(pack, kind)
    compile_storage(compiler, language, text, work / "storage.o")

    symbols = run(require_tool("nm"), work / "storage.o", cwd=work)
    defined = set(re.findall(r"^[0-9a-f]+ [RD] (\S+)$", symbols, re.M))
    assert defined == SYMBOLS
    link_and_check(compiler, language, work / "storage.o", pack, PAYLOADS)


@pytest.mark.parametrize("kind", ["string", "words", "hex"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_link_time_optimisation_accepts_the_types(compiler: str, kind: str, tmp_path: Path) -> None:
    compiler = find_compiler(compiler)
    text = write_pack(tmp_path, kind)
    (tmp_path / "main.c").write_text(checker(PAYLOADS))
    run(
        compiler, "-x", "c", "-std=c99", "-O2", "-flto", "-Wall", "-Wextra", "-Werror", "-pedantic",
        text, tmp_path / "main.c", "-o", tmp_path / "program", cwd=tmp_path,
    )  # fmt: skip
    run(tmp_path / "program", *(tmp_path / p.path for p in PAYLOADS), cwd=tmp_path)


@pytest.mark.parametrize(
    ("triple", "prefix"),
    [
        ("arm64-apple-macosx13", "_"),
        ("x86_64-apple-ios16-simulator", "_"),
        ("x86_64-pc-windows-msvc", ""),
        ("i686-pc-windows-gnu", "_"),
        ("aarch64-linux-gnu", ""),
        ("armv7-linux-gnueabihf", ""),
    ],
)
def test_incbin_assembles_for_every_object_format(triple: str, prefix: str, tmp_path: Path) -> None:
    import lief

    clang = require_tool("clang")
    text = write_pack(tmp_path, "incbin")
    output = tmp_path / "storage.o"
    run(clang, "-target", triple, "-Wall", "-Werror", "-c", text, "-o", output, cwd=tmp_path)
    assert global_symbols(output) == {prefix + name for name in SYMBOLS}
    parsed = lief.parse(str(output))
    assert parsed is not None
    sections = [section for section in parsed.sections if PAYLOADS[0].data in bytes(section.content)]
    assert [str(s.name).strip() for s in sections] in (["__const"], [".rdata"], [".rodata"])


@pytest.mark.parametrize("kind", [kind for kind in STORAGE_KINDS if kind not in ("incbin", "embed")])
@pytest.mark.parametrize("triple", ["arm64-apple-macosx13", "x86_64-pc-windows-msvc"])
def test_c_storages_name_the_symbols_like_the_header(kind: str, triple: str, tmp_path: Path) -> None:
    """No name is mangled, and the branch for MSVC defines the names that the header declares."""
    clang = require_tool("clang")
    text = write_pack(tmp_path, kind)
    (tmp_path / "stdint.h").write_text("typedef unsigned int uint32_t; typedef unsigned long long uint64_t;\n")
    # Without these two macros Clang reads the file as MSVC does.
    hidden = ["-U__clang__", "-U__GNUC__"] if "msvc" in triple else []
    flags = ["-x", "c++", "-target", triple, "-nostdinc", *hidden, "-I", str(tmp_path)]
    run(clang, *flags, "-c", text, "-o", tmp_path / "storage.o", cwd=tmp_path)
    prefix = "_" if "apple" in triple else ""
    assert {prefix + name for name in SYMBOLS} <= global_symbols(tmp_path / "storage.o")


def test_incbin_leaves_the_stack_not_executable(tmp_path: Path) -> None:
    gcc = require_tool("gcc")
    text = write_pack(tmp_path, "incbin")
    compile_storage("gcc", "c99", text, tmp_path / "storage.o")
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    run(gcc, "-Wl,--fatal-warnings", "main.c", "storage.o", "-o", "a", cwd=tmp_path)
    headers = run(require_tool("readelf"), "-lW", tmp_path / "a", cwd=tmp_path)
    assert re.search(r"GNU_STACK.* RW +0x", headers)


@pytest.mark.parametrize(
    ("triple", "flag", "note"),
    [
        ("x86_64-linux-gnu", "-fcf-protection=full", "IBT, SHSTK"),
        ("aarch64-linux-gnu", "-mbranch-protection=standard", "BTI, PAC"),
    ],
)
def test_incbin_keeps_control_flow_protection(triple: str, flag: str, note: str, tmp_path: Path) -> None:
    clang = require_tool("clang")
    text = write_pack(tmp_path, "incbin")
    run(clang, "-target", triple, flag, "-c", text, "-o", "with.o", cwd=tmp_path)
    run(clang, "-target", triple, "-c", text, "-o", "without.o", cwd=tmp_path)
    assert note in run(require_tool("readelf"), "-nW", "with.o", cwd=tmp_path)
    assert note not in run(require_tool("readelf"), "-nW", "without.o", cwd=tmp_path)


@pytest.mark.parametrize("kind", STORAGE_KINDS)
def test_only_the_payload_changes_and_the_text_follows(kind: str) -> None:
    """T7: compiler caches key on the text, and no depfile of theirs lists what .incbin reads."""
    changed = bytearray(PAYLOADS[0].data)
    changed[-1] ^= 1
    other = (Payload(PAYLOADS[0].symbol, bytes(changed), PAYLOADS[0].path), *PAYLOADS[1:])
    name = storage_name(kind, "demo")
    assert storage(kind, "demo", PAYLOADS)[name] != storage(kind, "demo", other)[name]
    assert PAYLOADS[0].digest.encode() in storage(kind, "demo", PAYLOADS)[name]


@pytest.mark.parametrize(("compiler", "kind"), [("gcc", "incbin"), ("clang", "incbin"), ("clang with #embed", "embed")])
def test_a_payload_of_another_length_is_refused(compiler: str, kind: str, tmp_path: Path) -> None:
    tool = find_compiler(compiler)
    text = write_pack(tmp_path, kind)
    (tmp_path / PAYLOADS[1].path).write_bytes(PAYLOADS[1].data + b"1234")
    result = subprocess.run(
        [str(tool), "-c", str(text), "-o", str(tmp_path / "o")],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
    )  # fmt: skip
    assert result.returncode != 0
    assert "demo_kernel1" in result.stdout


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_incbin_shows_the_change_after_preprocessing(compiler: str, tmp_path: Path) -> None:
    """T7: sccache and ccache hash the preprocessed text, where no comment is left."""
    tool = find_compiler(compiler)
    fresh = Payload(PAYLOADS[0].symbol, bytes(reversed(PAYLOADS[0].data)), PAYLOADS[0].path)
    texts = [
        run(tool, "-E", "-P", write_pack(tmp_path, "incbin", (payload,)), cwd=tmp_path)
        for payload in (PAYLOADS[0], fresh)
    ]
    assert texts[0] != texts[1]


def test_ccache_does_not_serve_the_old_object(tmp_path: Path) -> None:
    """The new payload has the same length and path, and ccache is told to trust .incbin."""
    ccache, gcc = require_tool("ccache"), require_tool("gcc")
    fresh = Payload(PAYLOADS[0].symbol, bytes(reversed(PAYLOADS[0].data)), PAYLOADS[0].path)
    environment = {
        "PATH": "/usr/bin:/bin",
        "CCACHE_DIR": str(tmp_path / "cache"),
        "CCACHE_SLOPPINESS": "incbin",
    }
    for payload in (PAYLOADS[0], fresh):
        text = write_pack(tmp_path, "incbin", (payload,))
        result = subprocess.run(
            [str(ccache), str(gcc), "-c", text.name, "-o", "storage.o"],
            cwd=tmp_path,
            env=environment,
            timeout=60,
        )
        assert result.returncode == 0
        assert payload.data in (tmp_path / "storage.o").read_bytes()


@pytest.mark.parametrize(
    ("compiler", "kind", "seconds"),
    [("gcc", "incbin", 5), ("gcc", "string", 20), ("gcc", "words", 40), ("clang with #embed", "embed", 20)],
)
def test_two_megabytes_compile_quickly(compiler: str, kind: str, seconds: int, tmp_path: Path) -> None:
    """T18. The limits are loose, for slow machines; `hex` takes longest and is left to the benchmark."""
    compiler = find_compiler(compiler)
    payloads = (spirv_like("demo_large", 2_000_000),)
    text = write_pack(tmp_path, kind, payloads)
    argv = [compiler, "-c", text.name, "-o", "storage.o"]
    subprocess.run(argv, cwd=tmp_path, timeout=seconds, check=True)
    link_and_check(compiler, "c99", tmp_path / "storage.o", tmp_path, payloads)


def c_literal_bytes(text: str) -> bytes:
    """An independent reading of the string storage: the C rules for escapes, one regular expression."""
    body = "".join(re.findall(r'^"(.*)";?$', text, re.M))
    pieces = re.findall(r"\\([0-7]{1,3})|\\(.)|(.)", body)
    return bytes(int(octal, 8) if octal else ord(escaped or plain) for octal, escaped, plain in pieces)


@given(st.binary(min_size=1, max_size=300))
@settings(max_examples=200, deadline=None)
def test_texts_hold_exactly_the_payload(data: bytes) -> None:
    payloads = (Payload("p", data, "p.spv"),)
    literal = storage("string", "demo", payloads)["demo-shaders.c"].decode()
    assert c_literal_bytes(literal) == data
    assert "??" not in literal.split("p_data", 1)[1]
    array = storage("hex", "demo", payloads)["demo-shaders.cpp"].decode().split("= {\n", 1)[1]
    assert bytes(int(x, 16) for x in re.findall(r"0x([0-9a-f]+)", array)) == data
    word_text = storage("words", "demo", payloads)["demo-shaders.c"].decode().split(") = {\n", 1)[1]
    words = [int(x, 16) for x in re.findall(r"0x([0-9a-f]+)", word_text)]
    joined = b"".join(word.to_bytes(4, "little") for word in words)
    assert joined[: len(data)] == data
    assert joined[len(data) :] == bytes(-len(data) % 4)


def test_hex_rows_are_those_of_ggml() -> None:
    payload = Payload("m", bytes(range(14)), "m.spv")
    text = storage("hex", "demo", (payload,))["demo-shaders.cpp"].decode()
    assert "m_data[14] = {\n0x0,0x1,0x2,0x3,0x4,0x5,0x6,0x7,0x8,0x9,0xa,0xb,\n0xc,0xd,\n};\n" in text
    assert "const uint64_t m_len = 14;\n" in text


def test_string_storage_names_the_limit_of_msvc_only_when_it_matters() -> None:
    small, large = Payload("s", b"x" * 65535, "s.spv"), Payload("l", b"x" * 65536, "l.spv")
    assert b"#error" not in storage("string", "demo", (small,))["demo-shaders.c"]
    assert b"#error" in storage("string", "demo", (large,))["demo-shaders.c"]


def test_depfile_lists_what_the_compiler_does_not_see() -> None:
    text = storage_depfile("incbin", "demo", PAYLOADS[:2], target="out/demo.o", folder="build/demo")
    target, _, rest = text.replace("\\\n", " ").partition(":")
    assert target == "out/demo.o"
    assert rest.split() == [
        "build/demo/demo-shaders.S",
        "build/demo/demo-shaders.h",
        "build/demo/demo_kernel0.spv",
        "build/demo/demo_kernel1.spv",
    ]
    assert storage("incbin", "demo", PAYLOADS)["demo-shaders.S.d"].startswith(b"demo-shaders.S.o:")


@pytest.mark.parametrize(
    ("symbol", "data", "path"),
    [
        ("2x", b"x", "x.spv"),
        ("a-b", b"x", "x.spv"),
        ("", b"x", "x.spv"),
        ("ok\n", b"x", "x.spv"),
        ("ok", b"", "x.spv"),
        ("ok", b"x", "/tmp/x.spv"),
        ("ok", b"x", "C:/x.spv"),
        ("ok", b"x", 'a"b.spv'),
        ("ok", b"x", "a\nb.spv"),
        ("ok", b"x", "a*/b.spv"),
        ("ok", b"x", ""),
    ],
)
def test_payload_refuses_what_no_text_can_hold(symbol: str, data: bytes, path: str) -> None:
    with pytest.raises(ValueError):
        Payload(symbol, data, path)


@pytest.mark.parametrize("kind", STORAGE_KINDS)
def test_one_symbol_twice_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="demo_kernel0"):
        storage(kind, "demo", (PAYLOADS[0], PAYLOADS[0]))
    with pytest.raises(ValueError, match="demo_kernel0"):
        c_header("demo", (PAYLOADS[0], PAYLOADS[0]))
