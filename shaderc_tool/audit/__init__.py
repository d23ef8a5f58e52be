"""Rules over artifacts, and the capability ledger."""
