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
    # --- toolchains and devices
    # --- compile and run
    # --- audit
    # --- verification
    # --- patches
    # --- cache and file system
    # --- Metal front end
}
