"""How long `shaderpack inspect` and `shaderpack audit` take on a 147 MB library, against reading the file once.

    python -m bench.inspect_library

The library is the one of the pinned mlx-metal wheel (17,248 functions); it is fetched on the first run.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from bench.measure import run
from tests import corpora

ROOT = Path(__file__).resolve().parent.parent
RUNS = 5


def main() -> None:
    """Measure and print the table."""
    library = str(corpora.extract("mlx-metal", "mlx.metallib"))
    hashing = "import hashlib, sys; hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest()"
    commands = {
        "read and SHA-256 of the whole file": [sys.executable, "-c", hashing, library],
        "shaderpack inspect": [sys.executable, "-m", "shaderc_tool", "inspect", library],
        "shaderpack audit": [sys.executable, "-m", "shaderc_tool", "audit", library],
    }
    print("| command | wall, median s | CPU, median s |\n| --- | --- | --- |")
    for name, argv in commands.items():
        samples = [run(argv, ROOT) for _ in range(RUNS)]
        wall = statistics.median(s.wall for s in samples)
        cpu = statistics.median(s.cpu for s in samples)
        print(f"| {name} | {wall:.2f} | {cpu:.2f} |")


if __name__ == "__main__":
    main()
