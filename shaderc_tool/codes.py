"""The catalogue of diagnostic codes. A code never changes its meaning and is never reused.

SP1xxx manifest and usage · SP2xxx toolchains and devices · SP3xxx compile and run · SP4xxx audit rules ·
SP5xxx verification · SP6xxx patches · SP7xxx cache and file system · SP8xxx Metal front end.
`docs/diagnostics.md` lists them; a test keeps the two in step.
"""

from __future__ import annotations

from typing import Final

CODES: Final[dict[str, str]] = {
    # --- manifest and usage
    "SP1001": "the manifest is not valid YAML",
    "SP1002": "unknown key",
    "SP1003": "missing key",
    "SP1004": "value of the wrong type",
    "SP1005": "value not among the allowed ones",
    "SP1006": "duplicate key",
    "SP1007": "schema version not supported",
    "SP1008": "path outside the manifest's root, or not there",
    "SP1009": "name not valid",
    "SP1010": "name used twice",
    "SP1011": "reference to something that is not declared",
    "SP1012": "template names an axis that does not exist",
    "SP1013": "nothing to do",
    "SP1014": "wrong use of the command line",
    # --- toolchains and devices
    "SP2001": "no GLSL compiler",
    "SP2002": "no SPIR-V validator or optimizer",
    "SP2003": "no Metal compiler",
    "SP2004": "a tool was found but does not run",
    "SP2011": "no Xcode",
    "SP2012": "only the Command Line Tools are there, which hold no Metal compiler",
    "SP2013": "the Metal Toolchain component is missing",
    "SP2014": "the Metal Toolchain component is the one of another Xcode build",
    "SP2015": "the Metal Toolchain component belongs to another user",
    "SP2016": "the Metal Toolchain moved since its path was stored",
    "SP2017": "the Xcode license has not been accepted",
    "SP2018": "the SDK is not installed",
    "SP2019": "language version unknown or too new for the deployment target",
    "SP2020": "a language feature needs a newer language version",
    "SP2021": "fast math",
    # --- compile and run
    "SP3001": "a program cannot be started",
    "SP3002": "compile error",
    "SP3003": "compiler warning",
    "SP3004": "a tool failed without saying why",
    "SP3005": "a tool reported success but wrote no output",
    "SP3006": "a tool crashed, was killed or did not end",
    "SP3007": "the SPIR-V module is not valid",
    "SP3008": "two compiles of one shader differ",
    "SP3009": "constant conversion that the compiler may leave uninitialised",
    "SP3010": "source file not found",
    "SP3011": "include file not found",
    "SP3012": "interrupted",
    # --- audit
    "SP4001": "required kernel is missing",
    "SP4002": "artifact is damaged",
    "SP4003": "entry point differs from the manifest",
    "SP4004": "duplicate symbol",
    "SP4005": "interface differs from the manifest",
    "SP4006": "forbidden symbol is present",
    "SP4007": "size budget exceeded",
    "SP4008": "artifact is stale",
    "SP4021": "the library is for another platform",
    "SP4022": "the library's deployment target differs",
    "SP4023": "the library's language version differs",
    "SP4024": "the library has no functions",
    "SP4025": "functions were lost or added between compile and link",
    "SP4040": "one name is declared twice with different content",
    "SP4041": "a duplicate declaration cannot be removed",
    "SP4042": "an embed marker cannot be resolved",
    "SP4043": "a file includes itself",
    "SP4044": "two headers share an include guard",
    "SP4045": "a file ends inside a comment or a conditional",
    "SP4046": "a macro is defined again with another body",
    "SP4047": "an include cannot be inlined",
    # --- verification
    "SP5400": "AIR cannot run on this system",
    "SP5401": "the kernel uses something that the CPU engine does not model",
    "SP5402": "buffers, constants or sizes do not fit the kernel",
    "SP5403": "out-of-bounds access",
    "SP5404": "barrier divergence",
    "SP5405": "deadlock",
    "SP5406": "time limit exceeded",
    "SP5407": "private stack overflow",
    "SP5408": "simdgroup matrix operation with missing lanes",
    # --- patches
    # --- cache and file system
    "SP7001": "a file cannot be written",
    "SP7002": "damaged cache entry, rebuilt",
    # --- Metal front end
    "SP8001": "error in Metal source",
    "SP8002": "construct that the portable Metal compiler does not model",
    "SP8003": "unknown attribute",
    "SP8004": "argument index missing, out of range or used twice",
    "SP8005": "entry point or its parameter not valid",
    "SP8006": "variable in the wrong address space",
    "SP8007": "language version, platform or deployment target not supported by the portable Metal compiler",
    "SP8008": "the portable Metal compiler failed",
    "SP8009": "two entry points of one name",
}
