"""A line of another file or cell is blamed where it alone can be meant."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.sources.sources import Places
from workbench.worlds.sessions.findings.advice import advice
from workbench.worlds.sessions.recording.evidence import _find_call, _read_stars
from workbench.worlds.sessions.recording.frame_names import Frame

MODEL = """\
import torch
SCALE = 1
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rate_of_this_test = 0.5
    def forward(self, x):
        return x * self.rate_of_this_test
def scaled(x):
    return x * SCALE
"""
TRAIN = """\
import torch, wb_model
def train_rate(net):
    call = torch.compile(net, backend="eager")
    for k in (0.25, 0.75):
        net.rate_of_this_test = k
        call(torch.ones(3))
def train_scale():
    call = torch.compile(wb_model.scaled, backend="eager")
    for k in (2, 3):
        wb_model.SCALE = k
        call(torch.ones(3))
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "wb_model.py").write_text(MODEL)
    (tmp_path / "wb_train.py").write_text(TRAIN)
    monkeypatch.syspath_prepend(tmp_path)
    torch._dynamo.reset()
    import wb_model  # type: ignore[import-not-found]
    import wb_train  # type: ignore[import-not-found]

    yield wb_model, wb_train
    for name in ("wb_model", "wb_train"):
        sys.modules.pop(name, None)
    torch._dynamo.reset()
    linecache.checkcache()


def said(session: wb.Session) -> Any:
    (found,) = [one for one in advice(session) if one.kind == "recompile"]
    return found


def test_a_line_of_another_file_changed_an_attribute(modules: Any) -> None:
    model, train = modules
    net = model.Net()
    with wb.session() as session:
        train.train_rate(net)
    found = said(session)
    assert "`net.rate_of_this_test = k` changes it (wb_train.py:5)" in found.sentence
    (patch, *_) = found.patches
    places = [(edit.file.rpartition("/")[2], edit.line) for edit in patch.change.edits]
    assert places == [("wb_model.py", 6), ("wb_train.py", 5)]
    assert session.start_patch(patch.id).result().verdict == "cures"


def test_a_line_of_another_file_changed_a_global(modules: Any) -> None:
    _, train = modules
    with wb.session() as session:
        train.train_scale()
    assert "`wb_model.SCALE = k` changes it (wb_train.py:10)" in said(session).sentence


def test_of_two_lines_of_other_files_none_is_blamed(modules: Any, tmp_path: Path) -> None:
    model, train = modules
    (tmp_path / "wb_train.py").write_text(
        f"{TRAIN}\ndef also(net):\n    net.rate_of_this_test = 1\n"
    )
    linecache.checkcache()
    net = model.Net()
    with wb.session() as session:
        train.train_rate(net)
    text = said(session).sentence
    assert "one of 2 lines changes it (wb_train.py:5, wb_train.py:14), unknown which" in text


def test_where_no_line_is_found_it_is_said(modules: Any) -> None:
    model, _ = modules
    del sys.modules["wb_train"]  # which has a line that would do
    net = model.Net()
    call = torch.compile(net, backend="eager")
    with wb.session() as session:
        for k in (0.25, 0.75):
            setattr(net, "rate_of_" + "this_test", k)
            call(torch.ones(3))
    assert "; the line that changes it was not found" in said(session).sentence


class Paced(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pace_of_this_test = 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.pace_of_this_test


class Pacer:
    """Another class whose attribute has the same name."""

    def __init__(self) -> None:
        self.pace_of_this_test = 1

    def tick(self) -> None:
        self.pace_of_this_test += 1


class Held(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.held = Pacer()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.held.pace_of_this_test


def test_a_class_that_only_has_an_attribute_of_that_name_is_not_blamed() -> None:
    """As seen: the only line with that name was said to change it, whatever class it stood in."""
    torch._dynamo.reset()
    net, held = Paced(), Held()
    with wb.session() as session:
        call = torch.compile(net, backend="eager")
        for k in (1, 5):
            setattr(net, "pace_of_" + "this_test", k)
            call(torch.ones(3))
    text = said(session).sentence
    assert "; the line that changes it was not found. " in text
    assert "was 5, not 1 (test_evidence.py:" in text  # the place is the function's
    with wb.session() as session:
        call = torch.compile(held, backend="eager")
        for _ in range(2):
            call(torch.ones(3))
            held.held.tick()
    assert "`self.pace_of_this_test += 1` changes it" in said(session).sentence
    torch._dynamo.reset()


def test_the_report_of_a_recompile_says_why_first(modules: Any) -> None:
    model, train = modules
    with wb.session(capture="full") as session:
        train.train_rate(model.Net())
    assert session.report(0).request.again == ""
    assert session.report(1).request.again == (
        "Recompiled because `self.rate_of_this_test` was 0.75, not 0.25: "
        "`net.rate_of_this_test = k` changes it (wb_train.py:5)."
    )


def test_a_cell_changes_what_another_cell_defined(monkeypatch: pytest.MonkeyPatch) -> None:
    torch._dynamo.reset()
    cells = {
        "/tmp/ipykernel_7/1.py": "import torch\nSCALE = 1\ndef f(x):\n    return x * SCALE\n",
        "/tmp/ipykernel_7/2.py": "call = torch.compile(f, backend='eager')\ncall(torch.ones(3))\n",
        "/tmp/ipykernel_7/3.py": "SCALE = 5\ncall(torch.ones(3))\n",
    }
    names = {file: number for number, file in enumerate(cells, 1)}
    monkeypatch.setattr(
        "workbench.compiler.sources.sources.CELLS", type("C", (), {"get": lambda _: names})()
    )
    scope: dict[str, Any] = {"__name__": "__main__"}
    for file, text in cells.items():
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    with wb.session() as session:
        for file, text in cells.items():
            exec(compile(text, file, "exec"), scope)
    assert "`SCALE = 5` changes it (cell 3:1)" in said(session).sentence
    torch._dynamo.reset()


COUNTS = [0]


def test_a_module_that_dynamo_renames_has_its_name() -> None:
    torch._dynamo.reset()
    layer = torch.nn.Linear(4, 4)
    layer.register_forward_hook(lambda module, inputs, output: output + COUNTS[0])
    with wb.session() as session:
        call = torch.compile(layer, backend="eager")
        for COUNTS[0] in (0, 1, 2):
            call(torch.ones(2, 4))
    told = " ".join(session.advice)
    assert "COUNTS[0] was 2, not 1, in order 0 → 1 → 2" in told
    assert "__import_" not in told


class Tagged(torch.Tensor):
    """A subclass that changes nothing."""


def test_a_patch_is_called_by_what_its_lines_do() -> None:
    """The class changed first, then the size: the lines mark the size."""
    torch._dynamo.reset()
    with wb.session() as session:
        call = torch.compile(torch.sin, backend="eager")
        for x in (torch.ones(3), torch.ones(3).as_subclass(Tagged), torch.ones(5)):
            call(x)
    found = [patch for each in advice(session) for patch in each.patches]
    for patch in found:
        is_marked = all("mark_dynamic(" in line for line in patch.change.before_call)
        assert (patch.title == "Mark the size before each call") == (
            is_marked and bool(patch.change.before_call)
        )
    assert any(patch.change.before_call for patch in found)


def test_the_cure_of_a_wrapper_of_a_library_names_what_its_caller_passes() -> None:
    """As seen: "mark `args[1]`" in Accelerate's file, where nobody writes."""

    class Converted:
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return args[0].sum(0) + args[1]

    converted = Converted()

    def forward(*args: Any, **kwargs: Any) -> Any:
        return converted(*args, **kwargs)

    torch._dynamo.reset()
    call = torch.compile(forward, backend="eager")
    with wb.session() as session:
        for size in (4, 5, 6):
            batch, weight = torch.ones(size, 8), torch.ones(8)
            call(batch, weight)
    text = said(session).sentence
    assert "`torch._dynamo.maybe_mark_dynamic(batch, 0)`" in text
    assert "(the call is `call(batch, weight)`, test_evidence.py:" in text
    assert "maybe_mark_dynamic(args" not in text


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("call(a, b)", ("args[0]=a", "args[1]=b")),
        ("call(a, key=b)", ("args[0]=a", "kwargs['key']=b")),
        ("out = call(a).sum()", ("args[0]=a",)),
        ("call(a + 1, b)", ()),
    ],
)
def test_what_is_passed_on_is_named_as_guards_name_it(line: str, told: tuple[str, ...]) -> None:
    def wrapper(*args: Any, **kwargs: Any) -> None:
        """Passes on whatever it is given."""

    stars = _read_stars(wrapper.__code__)
    assert stars == ("args", "kwargs")
    at = Frame("train", "train.py", 1)
    assert _find_call(Places(), at, line, (), *stars)[1] == told
