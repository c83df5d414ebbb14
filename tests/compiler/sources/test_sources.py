from __future__ import annotations

import builtins
import linecache
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from workbench.compiler.sources.sources import Places, SourceTable
from workbench.report import TextWriter

TRACE = """  File "/home/me/model.py", line 3, in forward
    y = self.linear(x)
  File "{torch}/nn/modules/linear.py", line 5, in forward
    return F.linear(input)
"""


def test_the_innermost_line_outside_of_torch() -> None:
    folder = os.path.dirname(torch.__file__)
    frame = Places().innermost(TRACE.format(torch=folder))
    assert frame is not None
    assert (frame.file, frame.line, frame.function) == ("/home/me/model.py", 3, "forward")


def test_files_are_shown_without_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    places = Places()
    assert places.shown("/home/me/models/model.py") == "~/models/model.py"
    assert places.shown("/x/lib/site-packages/pkg/m.py") == "site-packages/pkg/m.py"
    assert places.shown("<ipython-input-7-abc>") == "cell 7"
    assert places.shared("# File: /home/me/a.py:3") == "# File: ~/a.py:3"


def test_files_of_a_project_outside_of_home_are_shown_from_its_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.chdir(tmp_path)
    places = Places()
    assert places.shown(f"{tmp_path}/models/model.py") == "models/model.py"
    assert places.shared(f'File "{tmp_path}/model.py", line 3') == 'File "model.py", line 3'
    assert places.shown("/elsewhere/model.py") == "/elsewhere/model.py"


def test_a_notebook_cell_is_named_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_ = SimpleNamespace(_filename_map={"/tmp/ipykernel_1/5.py": 12})
    shell = SimpleNamespace(compile=compile_)
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    places = Places()
    assert places.shown("/tmp/ipykernel_1/5.py") == "cell 12"
    assert places.kind("/tmp/ipykernel_1/5.py") == "notebook"


def test_it_has_its_number_between_cells_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch is tried when no cell runs: IPython has taken `get_ipython` away by then."""
    compile_ = SimpleNamespace(_filename_map={"/tmp/ipykernel_1/5.py": 12})
    shell = SimpleNamespace(compile=compile_)
    shells = SimpleNamespace(InteractiveShell=SimpleNamespace(_instance=shell))
    monkeypatch.delattr(builtins, "get_ipython", raising=False)
    monkeypatch.setitem(sys.modules, "IPython.core.interactiveshell", shells)
    assert Places().shown("/tmp/ipykernel_1/5.py") == "cell 12"


CELL = """import torch
x = 1

@decorated
def outer(x):
    def inner(y):
        text = '''
no indent
'''
        return y + 1
    return [inner(v)
            for v in x]

after = 2
"""


@pytest.fixture
def cell() -> str:
    name = "<ipython-input-3-0123>"
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(keepends=True), name)
    return name


@pytest.mark.parametrize(
    ("function", "line", "first", "last"),
    [
        ("outer", 11, 4, 12),
        ("inner", 10, 6, 10),
        ("<listcomp>", 12, 4, 12),
        ("<module>", 14, 1, 14),
    ],
)
def test_the_text_of_a_function(cell: str, function: str, line: int, first: int, last: int) -> None:
    places, texts = Places(), TextWriter()
    places.note(cell, line, function)
    table = SourceTable([places], texts)
    (source,) = table.rows
    expected = "\n".join(CELL.splitlines()[first - 1 : last])
    assert source.text is not None
    assert texts.finish()[source.text] == expected
    assert (source.file, source.first_line, source.kind) == ("cell 3", first, "notebook")
    assert table.line_id("cell 3", line) == f"L:s0:{line}"
    assert table.line_id("cell 3", last + 1) is None


def test_a_file_that_is_gone_has_no_source() -> None:
    places = Places()
    places.note("/nowhere/gone.py", 3, "f")
    assert SourceTable([places], TextWriter()).rows == []


def test_a_lambda_of_a_script_does_not_take_the_lines_of_its_functions(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "class Gate:\n    def forward(self, x):\n        return x + 1\n\nhook = lambda x: x * 2\n"
    )
    places = Places()
    for line, function, code in ((5, "<lambda>", "hook = ..."), (3, "forward", "return x + 1")):
        places.innermost(f'  File "{script}", line {line}, in {function}\n    {code}\n')
    table = SourceTable([places], TextWriter())
    assert [row.qualified for row in table.rows] == ["<module>", "Gate.forward"]
    shown = places.shown(str(script))
    assert (table.line_id(shown, 5), table.line_id(shown, 3)) == ("L:s0:5", "L:s1:3")
