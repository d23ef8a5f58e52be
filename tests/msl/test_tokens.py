"""Tokens: nothing is lost, lines stay where they are, brackets find each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.msl.rewrite.attributes import find_attributes
from shaderc_tool.msl.rewrite.scopes import FUNCTION, INIT, NAMESPACE, RECORD, Scopes
from shaderc_tool.msl.tokens import split_commas, tokenize, unclosed_brace

_PIECES = ["float4", "x", "(", ")", "[", "]", "{", "}", "<", ">", ",", ";", "1.0f", "0x1F", '"a b"', "'c'", "->", "::",
           "+=", "\n", " ", "\t", "[[", "]]", "#pragma unroll\n", "&&", "."]  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=60))
def test_untouched_tokens_give_the_text_back(pieces: list[str]) -> None:
    text = " ".join(pieces)
    got = tokenize(text).text()
    assert [line.split() for line in got.rstrip("\n").split("\n")] == [
        line.split() for line in text.rstrip("\n ").split("\n") or [""]
    ] or got.split() == text.split()
    assert got.split() == text.split()


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    stream = tokenize(text)
    for index, token in enumerate(stream.tokens):
        if token.match >= 0:
            assert stream.tokens[token.match].match == index
    Scopes(stream.tokens)
    find_attributes(stream.tokens)
    unclosed_brace(stream)


def test_line_markers_lead_to_the_users_file() -> None:
    stream = tokenize('# 1 "a.metal"\nint a;\n# 5 "dir/b \\"q\\".h" 1\nint b;\n\nint c;\n# 3 "a.metal" 2\nint d;\n')
    places = {t.text: stream.place(t) for t in stream.tokens if len(t.text) == 1 and t.text.isalpha()}
    assert places == {"a": ("a.metal", 1), "b": ('dir/b "q".h', 5), "c": ('dir/b "q".h', 7), "d": ("a.metal", 3)}
    assert stream.files == ("a.metal", 'dir/b "q".h')


def test_nested_subscripts_are_no_attribute() -> None:
    stream = tokenize("void f() { a[b[i]] = c[d[0]]; } [[kernel]] void g(int x [[buffer(1 + 2), unused]]);")
    lists = find_attributes(stream.tokens)
    assert [[(a.name, a.number) for a in found.attributes] for found in lists] == [
        [("kernel", None)],
        [("buffer", 3), ("unused", None)],
    ]


def test_commas_inside_brackets_and_templates_do_not_split() -> None:
    tokens = tokenize("f(a, g(b, c), h<d, e>(1), {2, 3}, x < y)").tokens
    parts = list(split_commas(tokens, 2, len(tokens) - 1))
    texts = ["".join(t.text for t in tokens[start:end]) for start, end in parts]
    assert texts == ["a", "g(b,c)", "h<d,e>(1)", "{2,3}", "x<y"]


def test_scopes() -> None:
    source = (
        "namespace n { struct S { int a; void m() const { int b; } }; } int t[2] = {1, 2};"
        "void f() { if (x) { int c; } float4 v = {d}; auto l = [&](int q) { return e; }; g({h}); }"
    )
    tokens = tokenize(source).tokens
    scopes = Scopes(tokens)
    kinds = {t.text: scopes.kind[i] for i, t in enumerate(tokens) if len(t.text) == 1 and t.text.isalpha()}
    assert kinds["a"] == RECORD
    assert kinds["b"] == kinds["c"] == kinds["e"] == FUNCTION
    assert kinds["d"] == kinds["h"] == INIT
    assert kinds["t"] == NAMESPACE
