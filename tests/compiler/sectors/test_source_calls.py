"""A place in the arguments of a call is the call's."""

import ast
import linecache

import pytest

from workbench.compiler.sectors.seen_accesses import SourceCall, find_call

TEXT = """
def outer():
    def kernel(a, b):
        v = tl.load(a + 1) + tl.load(b)
        w = tl.load(
            a + tl.arange(0, 8),
        )
        g = tl.load(b + tl.load(a))
        tl.store(a, tl.load(b))
"""


@pytest.fixture(autouse=True)
def _source(monkeypatch):
    lines = TEXT.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, "k.py", (len(TEXT), None, lines, "k.py"))


@pytest.mark.parametrize(
    ("line", "column", "kind", "expected"),
    [
        (4, 17, "read", SourceCall(4, 13)),
        (4, 34, "read", SourceCall(4, 30)),
        (6, 9, "read", SourceCall(5, 13)),
        (8, 17, "read", SourceCall(8, 13, is_nested=True)),
        (8, 29, "read", SourceCall(8, 25, is_nested=True)),
        (9, 17, "write", SourceCall(9, 9)),
        (9, 25, "read", SourceCall(9, 21)),
        (3, 3, "read", SourceCall(3, 3)),
    ],
)
def test_the_innermost_call_of_its_kind_is_found(line, column, kind, expected):
    indented = column - 4  # Triton compiles the function without its indentation

    found = find_call("k.py", line, indented, kind)

    assert found == expected or (found.line, found.column) == (line, indented)
    assert (found == expected) is (line != 3)


def test_a_file_that_cannot_be_read_leaves_the_place_as_it_is():
    assert find_call("no such file", 7, 3, "read") == SourceCall(7, 3)


def test_a_file_is_searched_once_however_many_accesses_it_has(monkeypatch):
    walk, walked = ast.walk, []
    monkeypatch.setattr(ast, "walk", lambda node: walked.append(node) or walk(node))
    text = "\n".join(f"tl.store(a + {n}, tl.load(b + {n}))" for n in range(300))
    monkeypatch.setitem(linecache.cache, "many.py", (0, None, text.splitlines(True), "many.py"))

    found = {find_call("many.py", n, 20, "read").column for n in range(1, 301)}

    assert (len(found), len(walked)) == (3, 1)  # a number has one, two or three digits
