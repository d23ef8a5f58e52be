"""SP4074: a bundle that carries a capability ledger has to be publishable by that ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator

from shaderc_tool.diagnostics import Diagnostic, Place

LEDGER = "capabilities.json"


def check_bundle(name: str, ledger: bytes) -> Iterator[Diagnostic]:
    """One error for each kernel that the ledger itself does not call publishable; a ledger that cannot be read, or
    lists no kernel, proves nothing and is an error, too."""
    try:
        kernels = json.loads(ledger)["kernels"]
        rows = [(str(k["symbol"]), bool(k["publishable"]), list(map(str, k.get("why_not", ())))) for k in kernels]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        yield _refused(name, "", f"its {LEDGER} cannot be read: {error!r}")
        return
    if not rows:
        yield _refused(name, "", f"its {LEDGER} lists no kernel")
    for symbol, publishable, why in rows:
        if not publishable:
            yield _refused(name, symbol, f"{symbol}: {', '.join(why) or 'no reason given'}")


def _refused(name: str, symbol: str, why: str) -> Diagnostic:
    return Diagnostic(
        "SP4074",
        f"{name} says that it is not publishable: {why}",
        Place(name),
        cause=f"that {LEDGER} is there is not enough; it has to vouch for every kernel",
        fix="build and verify again, and bundle the new outputs",
        subject=symbol or name,
    )
