"""clang's messages as diagnostics at the user's own file, line and column, and the verdict on them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from shaderc_tool.diagnostics import Diagnostic, Place, Related, Severity
from shaderc_tool.msl.clang import Message
from shaderc_tool.msl.shim.names import NOT_MODELLED_FUNCTIONS, NOT_MODELLED_TYPES
from shaderc_tool.msl.tokens import WORD, Token, TokenStream
from shaderc_tool.msl.vocabulary import cause_of, fix_of, to_metal

SOURCE = "<stdin>"
"""What clang calls the rewritten text."""

_UNMODELLED_WORDS = frozenset({*NOT_MODELLED_FUNCTIONS, *NOT_MODELLED_TYPES})
_GAP = re.compile(
    r"__generic|bfloat|no member named '(\w+)' in namespace 'metal|'(\w+)' is not a member of .*metal|"
    r"__boolvec|different language address space|vector conversion|invalid conversion between ext-vector|"
    r"invalid vector element type|builtin_astype|OpenCL|address_space\(2\).*__constant|not supported in .*C\+\+"
)
"""Messages that come from how the shim models Metal and may have no counterpart in Metal's own compiler."""

ReadLine = Callable[[str, int], str | None]


@dataclass
class Verdict:
    """Errors of the source and constructs that are not modelled, each reported once for a place."""

    errors: list[Diagnostic] = field(default_factory=list)
    not_modelled: list[Diagnostic] = field(default_factory=list)


class Diagnoser:
    """Maps messages about the rewritten text of one translation unit. `read_line` gives a line of a user's file."""

    def __init__(self, stream: TokenStream, read_line: ReadLine) -> None:
        self._stream = stream
        self._read_line = read_line

    def judge(self, messages: list[Message]) -> Verdict:
        verdict = Verdict()
        seen: set[tuple[str, int, str]] = set()
        for message in _in_source(messages, len(self._stream.lines)):
            diagnostic, is_gap = self._diagnostic(message)
            place = diagnostic.place or Place("")
            key = (place.file, place.line, diagnostic.message if is_gap else "")
            if key in seen:
                continue  # the same mistake in another instantiation, or what follows from it on the same line
            seen.add(key)
            (verdict.not_modelled if is_gap else verdict.errors).append(diagnostic)
        return verdict

    def _diagnostic(self, message: Message) -> tuple[Diagnostic, bool]:
        text = to_metal(message.text)
        own = message if message.file == SOURCE else None
        where = own or next((n for n in message.notes if n.file == SOURCE), None)
        place = self.place(where.line, where.column) if where is not None else None
        is_gap = self._is_gap(message, own is not None)
        if is_gap:
            return self._gap(message, text, place), True
        return (
            Diagnostic(
                "SP8001",
                _sentence(text),
                place,
                cause=cause_of(message.text, [n.text for n in message.notes]),
                fix=fix_of(text),
                related=self._related(message),
            ),
            False,
        )

    @staticmethod
    def _is_gap(message: Message, in_source: bool) -> bool:
        if "MSL:" in message.text:
            return False
        if not in_source:
            return True
        named = re.search(r"(?:identifier|type name|template named|member named) '(?:metal::)?(\w+)'", message.text)
        if named is not None and (named[1] in _UNMODELLED_WORDS or named[1].startswith("__")):
            return True  # double underscores are the Metal compiler's own names
        if _is_about_the_shim(message):
            return True
        if "did you mean" in message.text:
            return False
        # a class stands in for bfloat, so an overload that is missing for it may be there in Metal
        return any(_GAP.search(text) for text in (message.text, *_overloads(message)))

    @staticmethod
    def _gap(message: Message, text: str, place: Place | None) -> Diagnostic:
        named = re.search(r"'([^']+)'", text)
        subject = named[1] if named is not None else "this construct"
        return Diagnostic(
            "SP8002",
            f"not modelled by the portable Metal compiler: {subject}",
            place,
            cause="the portable compiler does not know whether Metal takes this; it is not reported as a mistake",
            fix="compile with Apple's toolchain, or rewrite the expression",
            subject=subject,
            severity=Severity.WARNING,
            detail=f"{message.file}:{message.line}: {text}" if message.file != SOURCE else text,
        )

    def _related(self, message: Message) -> tuple[Related, ...]:
        found: list[Related] = []
        for note in message.notes:
            if note.file == SOURCE and "macro" not in note.text and "__attribute__" not in note.text:
                found.append(Related(self.place(note.line, note.column), to_metal(note.text)))
        return tuple(found[:4])

    def place(self, line: int, column: int) -> Place:
        """The user's place of a place in the rewritten text; lines and columns from 1."""
        index = min(line - 1, len(self._stream.places) - 1)
        file, user_line = self._stream.places[index]
        token = self._stream.token_at(index, column)
        return Place(file, user_line, self._column(file, user_line, token))

    def place_of(self, token: Token) -> Place:
        """The user's place of a token."""
        file, line = self._stream.place(token)
        return Place(file, line, self._column(file, line, token))

    def _column(self, file: str, line: int, token: Token | None) -> int:
        if token is None:
            return 0
        text = self._read_line(file, line)
        if text is None:
            return token.column + 1
        if text[token.column : token.column + len(token.was)] == token.was:
            return token.column + 1
        same = [t for t in self._stream.on_line(token.line) if t.was == token.was]
        code = text.split("//")[0]
        edge = r"\b" if token.kind == WORD else ""
        found = [m.start() for m in re.finditer(edge + re.escape(token.was) + edge, code)]
        order = next(i for i, t in enumerate(same) if t is token)
        if order < len(found):
            return found[order] + 1
        return self._macro_column(code, token.line)

    def _macro_column(self, code: str, line: int) -> int:
        """Where a macro is used: the first word of the line that the preprocessor took away, else the line's start."""
        left = {t.was for t in self._stream.on_line(line)}
        for match in re.finditer(r"[A-Za-z_]\w*", code):
            if match[0] not in left:
                return match.start() + 1
        return len(code) - len(code.lstrip()) + 1


_SHIM_HELPER = re.compile(r"call to '(?:metal::)?__(?:at|list|like|temporary|conv|part|bits|braces)\b")
_NOT_CONSTANT = re.compile(r"address space|__\w|cast")
"""Why clang does not evaluate an expression that is constant in Metal: copies go through the generic space."""
_SHIM_ENTITY = re.compile(
    r"redefinition|implicit instantiation of undefined template|template specialization|partial spec"
)


def _is_about_the_shim(message: Message) -> bool:
    """What the user declares clashes with the shim, or lacks something that the shim should declare."""
    if _SHIM_HELPER.search(message.text):
        return True
    if "constant expression" in message.text and any(_NOT_CONSTANT.search(n.text) for n in message.notes):
        return True
    others = [n for n in message.notes if n.file != SOURCE]
    return bool(others) and _SHIM_ENTITY.search(message.text) is not None


def _overloads(message: Message) -> list[str]:
    if not message.text.startswith(("no viable", "no matching")):
        return []
    if any(re.search(r"from '(?:const )?__constant .*address_space\(2\)", n.text) for n in message.notes):
        return ["__generic"]  # two spaces here, one in Metal
    return [n.text for n in message.notes if re.search(r"no known conversion from .*bfloat", n.text)]


def _in_source(messages: list[Message], lines: int) -> list[Message]:
    """The errors, without those about what is appended to the source when there are others."""
    errors = [m for m in messages if m.severity != "warning"]
    return [m for m in errors if m.file != SOURCE or m.line <= lines] or errors


def _sentence(text: str) -> str:
    return re.sub(r"; did you mean '([^']*)'\?$", r" (did you mean '\1'?)", text)
