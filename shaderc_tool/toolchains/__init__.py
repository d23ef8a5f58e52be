"""Argument lists and output parsers of the external tools; all pure."""
