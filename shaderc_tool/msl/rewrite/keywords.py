"""Metal's words in clang's: address spaces, words that OpenCL reserves, types that OpenCL predefines."""

from __future__ import annotations

import re

from shaderc_tool.msl.tokens import DIRECTIVE, NUMBER, WORD, Token

CONSTANT_OBJECT = "const __attribute__((address_space(2)))"
"""The `constant` of pointers and references. A target address space, unlike `__constant`, is part of the generic one,
so that a structure in it can be copied and have its methods called, as in Metal."""

_WORDS = {
    "device": "__global",
    "threadgroup": "__local",
    "thread": "__private",
    "constant": CONSTANT_OBJECT,
    "ray_data": "__private",
    "object_data": "__local",
}
OPENCL_WORDS = frozenset(
    [
        "global",
        "local",
        "generic",
        "kernel",
        "read_only",
        "write_only",
        "read_write",
        "pipe",
        "event_t",
        "queue_t",
        "clk_event_t",
        "reserve_id_t",
        "sampler_t",
        "ndrange_t",
        "vec_step",
        "__kernel",
        "__constant",
        "__global",
        "__local",
        "__private",
        "__generic",
        "uniform",
        "image1d_t",
        "image2d_t",
        "image3d_t",
        "addrspace_cast",
    ]
)
"""Ordinary identifiers in Metal that clang would take for OpenCL's."""
_ATOMICS = {f"atomic_{t}": f"__atomic_{t}" for t in ("int", "uint", "float", "bool", "ulong")}
RENAMED = "__u_"

_PRAGMA = re.compile(r"#\s*pragma\s+(.*)")
_UNROLL = re.compile(r"(?:no)?unroll(?:\s*\(?\s*\d*\s*\)?)|clang loop .*")
_DOUBLE = re.compile(r"(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+")
_FP_CONTRACT = re.compile(r"METAL\s+fp\s+contract\s*\(\s*(\w+)\s*\)")


def rewrite_words(tokens: list[Token]) -> None:
    """Map address spaces, reserved words and literals; `constant` variables were mapped before."""
    for index, token in enumerate(tokens):
        if token.kind == WORD and token.text == token.was:
            text = token.text
            if text == "constant" and _is_method_qualifier(tokens, index):
                token.text = "__constant"  # for program-scope objects; the thread form is generic, see below
            elif text == "thread" and _is_method_qualifier(tokens, index):
                token.text = ""  # the generic space: clang calls no thread-qualified function on a temporary
            elif text in _WORDS:
                token.text = _WORDS[text]
            elif text in _ATOMICS:
                token.text = _ATOMICS[text]
            elif text in OPENCL_WORDS:
                token.text = RENAMED + text
        elif token.kind == NUMBER:
            token.text = _literal(token.text)
        elif token.kind == DIRECTIVE:
            token.text = _directive(tokens, index)


def _is_method_qualifier(tokens: list[Token], index: int) -> bool:
    """`int f() const thread {`: after the parameter list, before the body or the initializers."""
    before = tokens[index - 1].was if index else ""
    after = tokens[index + 1].was if index + 1 < len(tokens) else ""
    if before == "const" and index > 1:
        before = tokens[index - 2].was
    return before == ")" and after in ("{", ":", ";", "->", "noexcept")


def _literal(text: str) -> str:
    lower = text.lower()
    if lower.endswith("bf") and not lower.startswith("0x"):
        return f"metal::bfloat({text[:-2]}f)"
    return text + "f" if _DOUBLE.fullmatch(text) else text


def _directive(tokens: list[Token], index: int) -> str:
    pragma = _PRAGMA.match(tokens[index].text)
    if pragma is None:
        return ""
    contract = _FP_CONTRACT.match(pragma[1])
    if contract is not None:
        return f"#pragma clang fp contract({contract[1]})"
    if _UNROLL.fullmatch(pragma[1].strip()) and _before_loop(tokens, index):
        return tokens[index].text
    return ""


def _before_loop(tokens: list[Token], index: int) -> bool:
    following = next((t for t in tokens[index + 1 :] if t.kind != DIRECTIVE), None)
    return following is not None and following.text in ("for", "while", "do")
