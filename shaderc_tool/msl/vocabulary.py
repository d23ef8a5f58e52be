"""clang's messages in Metal's words: never the shim's names, never OpenCL's."""

from __future__ import annotations

import re

from shaderc_tool.msl.rewrite.keywords import RENAMED

_ELEMENT = (
    r"(char|uchar|short|ushort|int|uint|long|ulong|float|half|unsigned char|unsigned short|unsigned int|unsigned long)"
)
_SHORT = {"unsigned char": "uchar", "unsigned short": "ushort", "unsigned int": "uint", "unsigned long": "ulong"}

_SIMPLE = (
    (r" \(aka '(?:[^']|'(?=[^ ]))*'\)", ""),
    (r" \(vector of \d+ '[^']*' values?\)", ""),
    (r"const __attribute__\(\(address_space\(2\)\)\) ", "constant "),
    (r"__attribute__\(\(address_space\(2\)\)\) const ", "constant "),
    (r"__attribute__\(\(address_space\(2\)\)\) ?", "constant "),
    (r"const __constant\b", "constant"),
    (r"__constant const\b", "constant"),
    (r"__constant\b", "constant"),
    (r"__global\b", "device"),
    (r"__local\b", "threadgroup"),
    (r"__private\b", "thread"),
    (r"pointer to address space '__generic'", "pointer without an address space"),
    (r"address space '__generic'", "no address space"),
    (r"__generic ", ""),
    (r"address space '2'", "address space 'constant'"),
    (r"metal::__at\((\w+)\)", r"\1"),
    (r"\b__atomic_(\w+)", r"atomic_\1"),
    (r"(?:metal::)?_atomic<(\w+)>", r"atomic_\1"),
    (RENAMED, ""),
    (r"(?:metal::)?packed_vec<(\w+), (\d)>", r"packed_\1\2"),
    (r"(?:metal::)?matrix<(\w+), (\d), (\d)>", r"\1\2x\3"),
    (r"metal::(bfloat|bool\d)\b", r"\1"),
    (r"OpenCL C\+\+ ?\d*|C\+\+ for OpenCL[ \d.]*|OpenCL", "Metal"),
)


def to_metal(text: str) -> str:
    """The message with types and address spaces as the user wrote them."""
    text = re.sub(r" \[-W[\w-]+\]$", "", text)
    text = re.sub(
        rf"(?:metal::)?vec<{_ELEMENT}, (\d+)>|{_ELEMENT} (?:__\w+ )?__attribute__\(\(ext_vector_type\((\d+)\)\)\)",
        lambda m: f"{_SHORT.get(m[1] or m[3], m[1] or m[3])}{m[2] or m[4]}",
        text,
    )
    text = re.sub(r"'([^']*)'", lambda m: f"'{_type(m[1])}'", text)
    for pattern, replacement in _SIMPLE:
        text = re.sub(pattern, replacement, text)
    for rule, replacement in _SENTENCES:
        match = re.search(rule, text)
        if match is not None:
            return match.expand(replacement)
    return text


def _type(quoted: str) -> str:
    """A type without the address space of the object itself, which for a local variable is always `thread`."""
    quoted = re.sub(r"\bunsigned (?:char|short|int|long)\b", lambda m: _SHORT[m[0]], quoted)
    quoted = re.sub(r"([*&]) ?(const ?)?__private$", r"\1\2", quoted)
    return quoted if re.search(r"[*&\[(]", quoted) else re.sub(r"\b__private ", "", quoted)


_SENTENCES = (
    (r"no type named '__\w+' in namespace 'metal'", "expected a type"),
    (
        r"cannot assign to return value because function '__at<.*",
        "cannot assign to a variable in the constant address space",
    ),
    (r"(.*); did you mean '(?:__\w*|using|this|do|case|for|if|asm|new|try|or|and|not|xor)'\?", r"\1"),
    (
        r"no matching function for call to '(?:metal::)?__(?:make|cast)'",
        "no such conversion between vectors or scalars",
    ),
    (r"static assertion failed.*?MSL: ([^\"]*)", r"\1"),
    (r"static_assert failed.*?MSL: ([^\"]*)", r"\1"),
)

_CAUSES = (
    (r"changes address space|address space", "pointers of different address spaces do not convert into each other"),
    (r"read-only|const-qualified|cannot assign to", "the object is read-only here"),
    (
        r"use of undeclared identifier|unknown type name|no member named|no type named",
        "no declaration of this name is in scope",
    ),
    (r"ambiguous", "several overloads match equally well"),
    (r"no matching function|no viable", "no overload takes these arguments"),
    (r"scalar operand type has greater rank", "the scalar is wider than the vector's elements"),
    (r"expected '|expected expression|expected unqualified-id|extraneous", "syntax"),
)


def cause_of(text: str, notes: list[str]) -> str:
    """Why: what clang says of the nearest candidate, else a short reason for the most frequent kinds, or ""."""
    for note in notes:
        reason = re.search(r"candidate .*not viable: (.*)", note)
        if reason is not None:
            return to_metal(reason[1])
    return next((cause for rule, cause in _CAUSES if re.search(rule, text)), "")


_FIXES = (
    (r"did you mean '([^']*)'", r"write \1"),
    (r"changes address space|address space", "give the parameter the address space of the argument"),
    (r"const-qualified|read-only", "write to a device, threadgroup or thread object that is not const"),
    (r"ambiguous", "cast the arguments to one type"),
    (r"greater rank", "convert the scalar or the vector explicitly"),
    (r"vector components|no member named '[xyzwrgba]+'", "use components that the vector has"),
)


def fix_of(text: str) -> str:
    """What to do about it, or ""."""
    for rule, fix in _FIXES:
        match = re.search(rule, text)
        if match is not None:
            return match.expand(fix) if "\\" in fix else fix
    return ""
