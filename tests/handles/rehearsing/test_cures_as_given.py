"""A cure that is praised compiles, pasted as it is given, in one graph with the same results."""

from __future__ import annotations

import importlib.util
import io
import itertools
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import broken_programs
import numpy as np
import pytest
import torch

import workbench as wb
from workbench.analysis.opportunities.rehearsed_cures import RehearsedCure

Function = Callable[[torch.Tensor], torch.Tensor]
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? ")
QUICK = (broken_programs.counted, broken_programs.logged, broken_programs.drawn_in_two_ways)
QUICK_WITHOUT_CURE = (broken_programs.locking, broken_programs.ending_early)


def patched(source: str, patch: str) -> str:
    """A text with a unified diff applied, each of its lines compared."""
    lines, at = source.split("\n"), 0
    made: list[str] = []
    for row in patch.split("\n"):
        if row.startswith(("---", "+++")) or not row:
            continue
        if (hunk := _HUNK.match(row)) is not None:
            start = int(hunk[1]) - 1
            made += lines[at:start]
            at = start
        elif row[0] == "+":
            made.append(row[1:])
        else:
            assert lines[at] == row[1:]
            made += [row[1:]] if row[0] == " " else []
            at += 1
    return "\n".join([*made, *lines[at:]])


def pasted(cure: RehearsedCure, name: str, folder: Path) -> Function:
    """The function of a copy of the file, with the patch in it."""
    file = folder / f"pasted_{cure.id}.py"
    source = Path(broken_programs.__file__).read_text()
    file.write_text(patched(source, cure.patch))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: Function = getattr(module, name)
    return made


def run(function: Function, x: torch.Tensor) -> torch.Tensor:
    """One call, from the same random states."""
    random.seed(3)
    np.random.seed(3)
    torch.manual_seed(3)
    broken_programs.numbers = itertools.count()
    return function(x)


def check_every_cure(function: Function, folder: Path) -> list[RehearsedCure]:
    """Paste each cure that is praised; the cures, after it."""
    x = torch.linspace(-1, 2, 8)
    found = wb.rehearse(function, (x.clone(),))
    config: Any = torch._dynamo.config
    for cure in found.cures:
        if cure.verdict != "cures":
            continue
        made = pasted(cure, function.__name__, folder)
        options = [row for row in cure.code.split("\n") if row.startswith(("torch._", "import"))]
        exec("\n".join(options), {"torch": torch})
        try:
            actual = run(torch.compile(made, fullgraph=True), x.clone())
        finally:
            config.capture_scalar_outputs = config.trace_autograd_ops = False
            config.capture_dynamic_output_shape_ops = config.allow_rnn = False
            config.ignore_logging_functions = set()
            torch._dynamo.reset()
        torch.testing.assert_close(actual, run(function, x.clone()))
    return list(found.cures)


@pytest.mark.parametrize("function", QUICK, ids=lambda function: function.__name__)
def test_a_praised_cure_compiles_as_it_is_given(function: Function, tmp_path: Path) -> None:
    cures = check_every_cure(function, tmp_path)
    assert any(cure.verdict == "cures" for cure in cures)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:a warning", "ignore::ResourceWarning")
@pytest.mark.parametrize(
    "function",
    [each for each in broken_programs.PROGRAMS if each not in QUICK],
    ids=lambda function: function.__name__,
)
def test_every_praised_cure_compiles_as_it_is_given(function: Function, tmp_path: Path) -> None:
    cures = check_every_cure(function, tmp_path)
    assert any(cure.verdict == "cures" for cure in cures)


def test_what_only_captures_is_not_praised() -> None:
    found = wb.rehearse(broken_programs.counted, (torch.linspace(-1, 2, 8),))
    verdicts = {cure.code: cure.verdict for cure in found.cures}
    assert verdicts["torch._dynamo.config.capture_dynamic_output_shape_ops = True"] == "refused"
    assert found.chosen == ("c0",)
    assert (found.graphs_after, found.breaks_after) == (1, 0)
    assert "one_hot(x.gt(0).long(), 2).sum(0)" in found.patch()


def test_numbers_that_are_printed_may_change_by_themselves() -> None:
    found = wb.rehearse(broken_programs.printed_next, (torch.ones(3),))
    assert found.cures[0].verdict == "cures"
    kept = {cure.kind: cure.verdict for cure in found.cures}
    assert kept == {"rewrite": "cures", "move": "helps", "explicit": "explicit"}


class Named:
    def print_itself(self, x: torch.Tensor) -> torch.Tensor:
        y = x.relu()
        print(self)
        return y * 2


def test_addresses_in_what_is_printed_are_no_difference() -> None:
    found = wb.rehearse(Named().print_itself, (torch.ones(3),))
    assert found.cures[0].verdict == "cures"


def test_numbers_that_are_drawn_are_the_same_numbers(tmp_path: Path) -> None:
    found = wb.rehearse(broken_programs.drawn, (torch.ones(3),))
    (cure, explicit) = found.cures
    assert (cure.verdict, explicit.verdict) == ("cures", "explicit")
    assert "def random_random_drawn():" in cure.patch
    made = pasted(cure, "drawn", tmp_path)
    x = torch.ones(3)
    torch.testing.assert_close(run(made, x), run(broken_programs.drawn, x))


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(each, marks=[] if each in QUICK_WITHOUT_CURE else [pytest.mark.slow])
        for each in broken_programs.WITHOUT_CURE
    ],
    ids=lambda function: function.__name__,
)
def test_what_has_no_cure_says_what_to_do(
    function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("2\n" * 20))
    found = wb.rehearse(function, (torch.linspace(-1, 2, 8),))
    (item, *_) = found.breaks
    assert not any(cure.verdict == "cures" for cure in found.cures)
    assert broken_programs.WITHOUT_CURE[function] in found.advice[item.id]
    assert "no known fix removes the break" in repr(found)


@pytest.mark.slow
def test_what_is_read_while_compiling_says_that_it_stays() -> None:
    found = wb.rehearse(broken_programs.looking_for_a_file, (torch.linspace(-1, 2, 8),))
    (cure,) = (each for each in found.cures if each.verdict == "cures")
    assert "stays the same if the file or setting changes" in cure.text


def test_a_break_in_code_of_python_is_at_the_line_of_the_call() -> None:
    found = wb.explain(broken_programs.reading_json, (torch.ones(8),))
    (item,) = found.breaks
    assert item.text.startswith("k = json.loads(")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_number_is_read_anew_by_an_operator() -> None:
    found = wb.rehearse(broken_programs.reading_a_number, (torch.ones(3),))
    cure = next(each for each in found.cures if each.verdict == "cures")
    assert "the number is read on every call" in cure.text


def nothing_compiled(x: torch.Tensor) -> torch.Tensor:
    for place in x.nonzero():
        x = x + x[place]
    return x


def test_an_option_that_leaves_no_graph_is_no_help() -> None:
    found = wb.rehearse(nothing_compiled, (torch.linspace(-1, 2, 8),))
    assert found.chosen == ()
    assert {cure.verdict for cure in found.cures} == {"no help"}
