"""Cold compile of the five Metal sources against clang's own syntax check of the same text.

    python -m bench.portable_metal

Both run on two workers, best of several rounds. Ours starts from an empty cache: it precompiles the shim, preprocesses,
rewrites, compiles and assembles. The other side is clang -fsyntax-only on what our compiler gives to clang, with the
shim in front as text.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from shaderc_tool.msl import clang
from shaderc_tool.msl.compiler import compile_msl
from shaderc_tool.msl.options import MslOptions
from shaderc_tool.msl.rewrite import rewrite
from shaderc_tool.msl.shim import shim_text
from shaderc_tool.msl.tokens import tokenize

ROOT = Path(__file__).resolve().parents[1]
WORKERS = 2


@dataclass(frozen=True)
class Ended:
    status: int
    stdout: bytes
    stderr: bytes


def run(argv: Sequence[str], cwd: Path, stdin: bytes) -> Ended:
    done = subprocess.run(argv, cwd=cwd, input=stdin, capture_output=True)
    return Ended(done.returncode, done.stdout, done.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    program = clang.clang_program()
    if program is None:
        raise SystemExit("needs the ziglang wheel")
    sources = sorted((ROOT / "metal").glob("*.metal"))
    texts = [_text_for_clang(program, path) for path in sources]
    syntax = best(rounds, lambda: _syntax_check(program, texts))
    cold = best(rounds, lambda: _cold(sources))
    print(f"{len(sources)} files, {WORKERS} workers, best of {rounds}")
    print(f"clang -fsyntax-only  {syntax * 1000:7.0f} ms")
    print(f"shaderpack, cold     {cold * 1000:7.0f} ms  ({cold / syntax:.2f}x)")


def best(rounds: int, action: Callable[[], None]) -> float:
    """The shortest time in seconds."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        action()
        times.append(time.perf_counter() - begun)
    return min(times)


def _text_for_clang(program: Path, path: Path) -> bytes:
    argv = clang.preprocess_argv(program, f"metal/{path.name}", MslOptions())
    preprocessed = run(argv, ROOT, path.read_bytes()).stdout.decode()
    unit = rewrite(tokenize(preprocessed))
    return (shim_text(fast_math=False) + unit.stream.text()).encode()


def _syntax_check(program: Path, texts: list[bytes]) -> None:
    argv = clang.syntax_argv(program, MslOptions())
    with ThreadPoolExecutor(WORKERS) as pool:
        for ended in pool.map(lambda text: run(argv, ROOT, text), texts):
            assert ended.status == 0, ended.stderr.decode()


def _cold(sources: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as cache, ThreadPoolExecutor(WORKERS) as pool:
        options = MslOptions(cache_dir=Path(cache))

        def one(path: Path) -> str:
            return compile_msl(path.read_text("utf-8"), f"metal/{path.name}", options, run, ROOT).status

        assert set(pool.map(one, sources)) == {"clean"}


if __name__ == "__main__":
    main()
