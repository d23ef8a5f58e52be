"""The one exception of the format readers and writers."""

from __future__ import annotations


class FormatError(ValueError):
    """The bytes are not what the format's specification allows.

    `offset` is the byte position of the fault in the input, or -1 when there is none to name.
    """

    def __init__(self, message: str, offset: int = -1) -> None:
        super().__init__(message if offset < 0 else f"{message} (at byte {offset:#x})")
        self.offset = offset
