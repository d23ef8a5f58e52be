"""What a declaration at namespace scope declares, read from its tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from shaderc_tool.emit.msl_lex import DIRECTIVE, STRING, WORD, Token

_OPEN: Final = ("(", "[", "{")
_CLOSE: Final = (")", "]", "}")
_TAGS: Final = ("struct", "class", "union", "enum")
_STAGES: Final = ("kernel", "vertex", "fragment")

Words = list[str]


def _words(group: Sequence[Token]) -> Words:
    return [token.text for token in group if token.kind != DIRECTIVE]


def _closing(words: Sequence[str], at: int) -> int:
    """Index of the bracket that closes the one at `at`, or the last index."""
    depth = 0
    for index in range(at, len(words)):
        depth += (words[index] in _OPEN) - (words[index] in _CLOSE)
        if depth == 0:
            return index
    return len(words) - 1


def _closing_angle(words: Sequence[str], at: int) -> int:
    """Index of the `>` that closes the `<` at `at`, brackets skipped; `>>` lexes as two."""
    depth, index = 0, at
    while index < len(words):
        if words[index] in _OPEN:
            index = _closing(words, index)
        depth += (words[index] == "<") - (words[index] == ">")
        if depth == 0:
            return index
        index += 1
    return len(words) - 1


def _without_attributes(words: Sequence[str]) -> Words:
    """`words` without `[[...]]`, `__attribute__((...))` and `alignas(...)` outside of braces and
    parentheses.
    """
    result: Words = []
    index = 0
    while index < len(words):
        word = words[index]
        if words[index : index + 2] == ["[", "["]:
            index = _closing(words, index)
        elif word in ("__attribute__", "alignas") and words[index + 1 : index + 2] == ["("]:
            index = _closing(words, index + 1)
        elif word in _OPEN:
            end = _closing(words, index)
            result += words[index : end + 1]
            index = end
        else:
            result.append(word)
        index += 1
    return result


def _without_template(words: Words) -> tuple[Words, Words]:
    """The template headers in front, and the rest."""
    header: Words = []
    while words[:2] == ["template", "<"]:
        end = _closing_angle(words, 1)
        header += words[: end + 1]
        words = words[end + 1 :]
    return header, words


def _outer(words: Sequence[str]) -> Iterator[int]:
    """Indices outside of all brackets; of a bracketed part only the opening bracket counts."""
    index = 0
    while index < len(words):
        yield index
        index = _closing(words, index) + 1 if words[index] in _OPEN else index + 1


def is_invocation(group: Sequence[Token]) -> bool:
    """True for `NAME(...)` alone, which at namespace scope can only be a macro."""
    words = _words(group)
    return (
        len(words) > 2
        and group[0].kind == WORD
        and words[0] not in ("__attribute__", "alignas", "static_assert", "decltype")
        and words[1] == "("
        and _closing(words, 1) == len(words) - 1
        and words[-1] == ")"
    )


def is_function_head(group: Sequence[Token]) -> bool:
    """True when the brace that follows `group` opens a function body."""
    _, words = _without_template(_without_attributes(_words(group)))
    return _parameters(words) >= 0


def _parameters(words: Words) -> int:
    """Index of the `(` of a function's parameter list, or -1 when `words` begins no function definition."""
    outer = list(_outer(words))
    operator = next((i for i in outer if words[i] == "operator"), -1)
    if any(words[i] == "=" and (operator < 0 or i != operator + 1) for i in outer):
        return -1
    lists = [i for i in outer if words[i] == "(" and i > 0 and words[i - 1] not in ("noexcept", "decltype")]
    if words[:1] == ["typedef"] or not lists:
        return -1
    return lists[-1] if operator < 0 or lists[-1] > operator + 1 else -1


def declared_keys(group: Sequence[Token]) -> list[tuple[str, str, str]]:
    """(kind, name, signature) of everything that a complete declaration defines; empty when nothing
    clashes.
    """
    words = _words(group)
    if words[:1] == ["template"] and words[1:2] != ["<"]:
        return _instantiation(group)
    header, plain = _without_template(_without_attributes(words))
    if plain[:1] == ["using"]:
        return [("alias", plain[1], "")] if plain[2:3] == ["="] else []
    if not plain or plain[0] in ("static_assert", "namespace", "extern"):
        return []
    brace = next((i for i in _outer(plain) if plain[i] == "{"), -1)
    head = plain[:brace] if brace >= 0 else plain
    if brace >= 0 and (at := _parameters(head)) >= 0:
        return [_function(header, head, at, any(stage in words[: words.index("{")] for stage in _STAGES))]
    if brace >= 0 and "=" not in head and (tags := [i for i, word in enumerate(head) if word in _TAGS]):
        return _tagged(plain, head, tags[0], brace)
    if plain[0] == "typedef":
        return [("alias", name, "") for name in _declarators(plain[1:-1])]
    if brace < 0 and "=" not in plain and "(" in plain:
        return []
    return _objects(plain)


# --- one kind each


def _instantiation(group: Sequence[Token]) -> list[tuple[str, str, str]]:
    """An explicit instantiation: only its `host_name` can clash, and that string is the kernel's name."""
    tokens = [t for t in group if t.kind != DIRECTIVE]
    for index, token in enumerate(tokens[:-2]):
        if token.text == "host_name" and tokens[index + 2].kind == STRING:
            return [("host_name", tokens[index + 2].text.strip('"'), "")]
    return []


def _function(header: Words, head: Words, at: int, entry: bool) -> tuple[str, str, str]:
    """The function whose parameter list begins at `at`: its name with qualifiers and template arguments."""
    start = head.index("operator") if "operator" in head[:at] else at - 1
    start = _qualified_start(head, start)
    name = "".join(head[start:at])
    if entry and not header:
        return "kernel", name, ""
    parameters = head[at + 1 : _closing(head, at)]
    return "function", name, _signature(header, parameters)


def _qualified_start(head: Words, last: int) -> int:
    """Index where the name that ends at `last` begins: `a<b>::c<d>` is one name."""
    start = last
    while True:
        if head[start] == ">":
            start = max(0, _opening_angle(head, start) - 1)
        if start < 2 or head[start - 1] != "::":
            return start
        start -= 2


def _opening_angle(words: Sequence[str], at: int) -> int:
    """Index of the `<` that the `>` at `at` closes, or `at` when there is none."""
    depth = 0
    for index in range(at, -1, -1):
        depth += (words[index] == ">") - (words[index] == "<")
        if depth == 0:
            return index
    return at


def _tagged(plain: Words, head: Words, tag: int, brace: int) -> list[tuple[str, str, str]]:
    """A struct, class, union or enum with its body, and the names behind the closing brace."""
    keys: list[tuple[str, str, str]] = []
    name = "".join(head[tag + 1 : head.index(":", tag)] if ":" in head[tag:] else head[tag + 1 :])
    scoped = name.startswith(("class", "struct")) and head[tag] == "enum"
    name = re.sub(r"^(class|struct)", "", name) if scoped else name
    if name:
        keys.append(("type", name, ""))
    end = _closing(plain, brace)
    if head[tag] == "enum" and not scoped:
        keys += [("value", entry, "") for entry in _enumerators(plain[brace + 1 : end])]
    kind = "type" if plain[0] == "typedef" else "value"
    keys += [(kind, entry, "") for entry in _declarators(plain[end + 1 : -1]) if entry != name]
    return keys


def _enumerators(words: Words) -> Iterator[str]:
    return (part[0] for part in _split(words) if part and _is_name(part[0]))


def _objects(plain: Words) -> list[tuple[str, str, str]]:
    """Variables: at least a type and a name, so that a lone macro name is not taken for one."""
    first = next(iter(_split(plain[:-1])), [])
    until = first.index("=") if "=" in first else len(first)
    if sum(_is_name(word) for word in first[:until]) < 2:
        return []
    return [("value", name, "") for name in _declarators(plain[:-1])]


# --- pieces


def _is_name(word: str) -> bool:
    return bool(re.match(r"[A-Za-z_]\w*\Z", word))


def _split(words: Words) -> Iterator[Words]:
    """The parts between commas, brackets and template arguments respected."""
    part: Words = []
    index = 0
    while index < len(words):
        word = words[index]
        end = index
        if word in _OPEN:
            end = _closing(words, index)
        elif word == "<" and part and _is_name(part[-1]) and "=" not in part:
            end = _closing_angle(words, index)
        if word == "," and end == index:
            yield part
            part = []
        else:
            part += words[index : end + 1]
        index = end + 1
    yield part


def _declarators(words: Words) -> list[str]:
    """The names declared by `type a, *b[2] = {...}, c`, by `type name(...)` and by `type (*name)(...)`."""
    names = []
    for part in _split(words):
        declarator = part[: part.index("=")] if "=" in part else part
        lists = [i for i in _outer(declarator) if declarator[i] == "("]
        if len(lists) > 1:
            declarator = declarator[lists[0] + 1 : _closing(declarator, lists[0])]
        plain = [declarator[i] for i in _outer(declarator) if _is_name(declarator[i])]
        names += plain[-1:]
    return names


def _signature(header: Words, parameters: Words) -> str:
    """Parameter types without names and default values; template parameters by position, as two may name
    them so.
    """
    position = {name: f"${i}" for i, name in enumerate(_template_names(header))}
    types = []
    for part in _split(parameters):
        until = part.index("=") if "=" in part else len(part)
        words = _without_attributes(part[:until])
        suffix: Words = []
        while words and words[-1] == "]" and "[" in words:
            start = len(words) - 1 - words[::-1].index("[")
            suffix, words = ["*"], words[:start]
        if len(words) > 1 and _is_name(words[-1]) and not _is_type_word(words[-1]):
            words = words[:-1]
        types.append(" ".join(position.get(word, word) for word in words + suffix))
    heads = " ".join(position.get(word, word) for word in header)
    return f"{heads}({', '.join(types)})"


def _is_type_word(word: str) -> bool:
    return word in ("int", "char", "short", "long", "unsigned", "signed", "float", "half", "bool", "const", "void")


def _template_names(header: Words) -> list[str]:
    """Names of template parameters: the last word before `,`, `=` or the end of each parameter."""
    names = []
    if header:
        for part in _split(header[2:-1]):
            words = [word for word in (part[: part.index("=")] if "=" in part else part) if _is_name(word)]
            if len(words) > 1:
                names.append(words[-1])
    return names
