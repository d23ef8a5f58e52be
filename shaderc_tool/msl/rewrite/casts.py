"""Conversions and constructors of vectors, which clang's extended vectors do not have in Metal's form.

`(half4)x` becomes `metal::__cast<half4>(x)` and `float4(a, b)` becomes `metal::__make<float4>(a, b)`. The same is done
for template type parameters and aliases, which may name a vector.
"""

from __future__ import annotations

from shaderc_tool.msl.rewrite.scopes import closing_angle
from shaderc_tool.msl.shim.names import BOOL_VECTORS, VECTOR_NAMES
from shaderc_tool.msl.tokens import NUMBER, STRING, WORD, Token

_UNARY = frozenset({"+", "-", "!", "~", "*", "&", "++", "--"})
_STATEMENT_WORDS = frozenset({"return", "case", "else", "do", "in"})


def rewrite_casts(tokens: list[Token]) -> None:
    names = set(VECTOR_NAMES) | _aliases(tokens)
    for index in range(len(tokens) - 1, -1, -1):  # inner ones first, so that text grows outwards
        token = tokens[index]
        if token.text == "(" and token.match > index:
            _c_cast(tokens, index, names)
        elif token.kind == WORD and token.was == token.text:
            if token.text == "static_cast":
                _static_cast(tokens, index, names)
            elif token.text in names or token.text in ("vec", "type"):
                _construct(tokens, index)


def _aliases(tokens: list[Token]) -> set[str]:
    """Template type parameters, and typedef or using names of anything but pointers and records."""
    found: set[str] = set()
    for index, token in enumerate(tokens):
        if token.kind != WORD:
            continue
        following = tokens[index + 1] if index + 1 < len(tokens) else token
        if token.text in ("typename", "class") and following.kind == WORD:
            after = tokens[index + 2].text if index + 2 < len(tokens) else ""
            if after in (",", ">", "="):
                found.add(following.text)
        elif token.text == "using" and following.kind == WORD and index + 2 < len(tokens):
            if tokens[index + 2].text == "=" and _may_be_vector(tokens, index + 3):
                found.add(following.text)
        elif token.text == "typedef" and _may_be_vector(tokens, index + 1):
            end = _semicolon(tokens, index)
            if tokens[end - 1].kind == WORD:
                found.add(tokens[end - 1].text)
    return found - set(BOOL_VECTORS)


def _semicolon(tokens: list[Token], index: int) -> int:
    while index < len(tokens) - 1 and tokens[index].text != ";":
        index = tokens[index].match if tokens[index].match > index else index + 1
    return index


def _may_be_vector(tokens: list[Token], start: int) -> bool:
    texts = {t.text for t in tokens[start : _semicolon(tokens, start)]}
    return not texts & {"*", "&", "struct", "class", "union", "enum", "decltype", "{"}


def _c_cast(tokens: list[Token], opening: int, names: set[str]) -> None:
    close = tokens[opening].match
    inner = [t for t in tokens[opening + 1 : close] if t.text != "const"]
    if not _names_vector(inner, names) or not _starts_operand(tokens, close + 1):
        return
    if opening and not _cast_may_follow(tokens, opening - 1, names):
        return
    if tokens[close + 1].text == "{":
        tokens[opening].text = ""
        tokens[close].text = ""
        return
    end = operand_end(tokens, close + 1)
    tokens[opening].text = "metal::__cast<"
    tokens[close].text = ">("
    tokens[end].text += ")"


def _cast_may_follow(tokens: list[Token], before: int, names: set[str]) -> bool:
    """Whether a parenthesis after this token can open a cast: not after a function's or template's name."""
    token = tokens[before]
    if token.kind == WORD:
        return token.was in _STATEMENT_WORDS
    if token.was == ")":
        inner = tokens[token.match + 1 : before]
        return _names_vector(inner, names) or (len(inner) == 1 and _is_type_word(inner[0].was))
    return token.was != "]" and (token.was != ">" or _is_operator_angle(tokens, before))


def _is_operator_angle(tokens: list[Token], index: int) -> bool:
    """`a > (T)b`: the angle is an operator. `f<X>(T)`: it is not."""
    at = index - 1
    while at > max(0, index - 60) and tokens[at].text not in (";", "{", "}", "(", "&&", "||"):
        if tokens[at].text == "<":
            return False
        at -= 1
    return True


def _names_vector(inner: list[Token], names: set[str]) -> bool:
    if not inner:
        return False
    words = [t for t in inner if t.text not in ("metal", "::", "typename")]
    if len(words) == 1:
        return words[0].text in names
    if len(words) > 2 and words[0].text == "vec" and words[1].text == "<" and words[-1].text == ">":
        return True
    return inner[0].text == "typename" and inner[-1].text == "type"


def _starts_operand(tokens: list[Token], index: int) -> bool:
    if index >= len(tokens):
        return False
    token = tokens[index]
    return token.kind in (WORD, NUMBER, STRING) or token.was in ("(", "{") or token.was in _UNARY


def operand_end(tokens: list[Token], index: int) -> int:
    """The last token of the cast-expression that starts at `index`."""
    while index < len(tokens) and tokens[index].text in _UNARY:
        index += 1
    token = tokens[index]
    if token.was == "(":
        close = token.match
        if _looks_like_cast(tokens, index) and _starts_operand(tokens, close + 1):
            return operand_end(tokens, close + 1)
        return _postfix(tokens, close)
    if token.kind == WORD:
        return _postfix(tokens, _qualified(tokens, index))
    return _postfix(tokens, index)


def _looks_like_cast(tokens: list[Token], opening: int) -> bool:
    if tokens[opening].text.startswith("metal::__cast"):
        return True
    inner = tokens[opening + 1 : tokens[opening].match]
    if inner and inner[-1].was in ("*", "&"):
        return True
    if len(inner) != 1 or inner[0].kind != WORD or tokens[tokens[opening].match + 1].text in ("+", "-", "*", "&"):
        return False
    following = tokens[tokens[opening].match + 1]
    return following.kind in (WORD, NUMBER) or following.text in ("!", "~") or _is_type_word(inner[0].was)


def _is_type_word(text: str) -> bool:
    return text.endswith("_t") or text in (
        "int",
        "uint",
        "float",
        "half",
        "short",
        "ushort",
        "char",
        "uchar",
        "bool",
        "long",
        "ulong",
    )


def _qualified(tokens: list[Token], index: int) -> int:
    while index + 1 < len(tokens):
        following = tokens[index + 1]
        if following.text == "::" and index + 2 < len(tokens):
            index += 2
        elif following.text == "<":
            close = closing_angle(tokens, index + 1)
            if close < 0 or close + 1 >= len(tokens) or tokens[close + 1].was not in ("(", "::", "{"):
                return index
            index = close
        else:
            return index
    return index


def _postfix(tokens: list[Token], index: int) -> int:
    while index + 1 < len(tokens):
        following = tokens[index + 1]
        if following.was in ("(", "[") and following.match > 0:
            index = following.match
        elif following.was in (".", "->") and index + 2 < len(tokens):
            index += 2
        elif following.was in ("++", "--"):
            index += 1
        else:
            return index
    return index


def _static_cast(tokens: list[Token], index: int, names: set[str]) -> None:
    close = closing_angle(tokens, index + 1)
    if close > 0 and _names_vector([t for t in tokens[index + 2 : close] if t.text != "const"], names):
        tokens[index].text = "metal::__cast"


def _construct(tokens: list[Token], index: int) -> None:
    end = index
    if tokens[index].text == "vec":
        if tokens[index + 1].text != "<":
            return
        end = closing_angle(tokens, index + 1)
        if end < 0:
            return
    elif tokens[index].text == "type":
        index, end = _typename_start(tokens, index), index
        if index < 0:
            return
    if end + 1 >= len(tokens) or tokens[end + 1].was != "(" or not _is_expression(tokens, index, end + 1):
        return
    first = index
    if index >= 2 and tokens[index - 1].text == "::" and tokens[index - 2].text == "metal":
        tokens[index - 1].text = tokens[index - 2].text = ""
    if _all_literals(tokens, end + 1):
        tokens[first].text = f"(({tokens[first].text}"
        tokens[end].text += ")"
        tokens[tokens[end + 1].match].text += ")"
        return
    tokens[first].text = f"metal::__make<{tokens[first].text}"
    tokens[end].text += ">"


def _typename_start(tokens: list[Token], index: int) -> int:
    """`typename X<T>::type(...)`: the index of `typename`, or -1."""
    at = index
    while at > max(0, index - 40) and tokens[at].text not in (";", "{", "}", "(", "="):
        if tokens[at].text == "typename":
            return at
        at -= 1
    return -1


def _is_expression(tokens: list[Token], index: int, opening: int) -> bool:
    before = tokens[index - 1].text if index else ""
    if before in ("operator", "~", "new") or (tokens[index - 1].kind == WORD and before not in _STATEMENT_WORDS):
        return False  # operator float4(), const T(x): declarations
    inner = tokens[opening + 1]
    if inner.text in ("&", "*") and tokens[opening + 2].kind == WORD and tokens[opening + 3].text == ")":
        return tokens[tokens[opening].match + 1].text not in ("[", "(")  # float4 (&x)[4]
    return True


def _all_literals(tokens: list[Token], opening: int) -> bool:
    """Two or more plain numbers: clang's own vector literal serves, and is a constant expression."""
    inner = tokens[opening + 1 : tokens[opening].match]
    commas = sum(t.text == "," for t in inner)
    return commas > 0 and all(t.kind == NUMBER or t.text in (",", "-", "+") for t in inner)
