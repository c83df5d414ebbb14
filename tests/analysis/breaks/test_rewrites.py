"""Suggested rewrites are Python, take the break away, and compute the same."""

from __future__ import annotations

import ast
import inspect
import logging
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.analysis.breaks.broken_statement import Cure
from workbench.analysis.breaks.rewrites import rewrite_of

log = logging.getLogger(__name__)
Function = Callable[..., Any]


def assigned(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:  # noqa: SIM108
        y = x * 2
    else:
        y = x - 1
    return y + 1


def without_else(x: torch.Tensor) -> torch.Tensor:
    if (x.mean() > 0).item():
        x *= 3
    return x.sin()


def returned(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return x.sin()
    return x.cos()


def in_one_line(x: torch.Tensor) -> torch.Tensor:
    y = x.exp() if not bool(x.sum() > 0) else x
    return y * 2


def bounded(x: torch.Tensor) -> torch.Tensor:
    total = x.sum()
    if total > 1.5:
        total = 1.5  # type: ignore[assignment]
    return x * total


def blocks(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        x = x * 2
        y = x.sin()
    else:
        x = x - 1
        y = x.cos()
    return x + y


def number(x: torch.Tensor) -> torch.Tensor:
    scale = x.abs().max().item()
    return x / scale


def number_inside(x: torch.Tensor) -> torch.Tensor:
    return x * float(x.sum())


def whole_number(x: torch.Tensor) -> torch.Tensor:
    count = int(x.sum())
    return x * count


def number_in_an_operator(x: torch.Tensor) -> torch.Tensor:
    total = int(x.sum())
    moved = x + total
    return torch.relu(moved + total)


def number_of_integers(x: torch.Tensor) -> torch.Tensor:
    return (x > 0) * float((x > 0).sum())


def printing(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print("in between")
    return y * 2


def logging_it(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    log.info("in between %s", y)
    return y * 2


def masked(x: torch.Tensor) -> torch.Tensor:
    total = x[x > 0].sum()
    return x * total


def on_both(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0 and 0 < x.max() < 10:
        x = x + 1
    return x * 2


EVERY = [
    (on_both, "&"),
    (assigned, "torch.where"),
    (without_else, "torch.where"),
    (returned, "torch.where"),
    (in_one_line, "torch.where"),
    (bounded, "torch.clamp"),
    (blocks, "torch.cond"),
    (number, "x.abs().max()"),
    (number_inside, "x.sum()"),
    (whole_number, ".long()"),
    (number_in_an_operator, ".long()"),
    (number_of_integers, "1.0"),
    (printing, "is_compiling"),
    (logging_it, "is_compiling"),
    (masked, "torch.where"),
]


def suggested(function: Function) -> Cure | None:
    report = wb.explain(function, (torch.ones(3),)).report
    found = [rewrite_of(report, item) for item in report.breaks]
    assert found, "no break"
    return found[0]


def rewritten(function: Function, change: Cure, folder: Path) -> Function:
    """The function of a file in which the suggestion was followed."""
    lines, first = inspect.getsourcelines(function)
    (edit,) = change.change.edits
    at = edit.line - first
    plain = [line.rstrip("\n") for line in lines]
    assert tuple(plain[at : at + len(edit.before)]) == edit.before
    plain[at : at + len(edit.before)] = edit.after
    file = folder / f"{function.__name__}.py"
    head = ["import logging", "import torch", "log = logging.getLogger(__name__)"]
    file.write_text("\n".join([*head, *plain]))
    scope: dict[str, Any] = {"__name__": "rewritten"}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    made: Function = scope[function.__name__]
    return made


@pytest.mark.parametrize(("function", "word"), EVERY, ids=lambda v: getattr(v, "__name__", None))
def test_the_rewritten_function_has_no_break_and_the_same_values(
    function: Function, word: str, tmp_path: Path
) -> None:
    change = suggested(function)
    assert change is not None
    assert word in "\n".join(change.change.after)
    ast.parse(textwrap.dedent("\n".join(change.change.after)).replace("return", "pass;"))
    new = rewritten(function, change, tmp_path)
    for x in (torch.rand(3) + 0.1, -torch.rand(3) - 0.1):
        torch.testing.assert_close(new(x.clone()), function(x.clone()))
        torch.testing.assert_close(torch.compile(new, backend="eager")(x.clone()), new(x.clone()))
    assert list(wb.explain(new, (torch.ones(3),)).report.breaks) == []


def several_values(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        y = x * 2
        print(y)
    else:
        y = x
    return y


def number_for_python(x: torch.Tensor) -> torch.Tensor:
    count = x.sum().item()
    return x * len([count])


def size(x: torch.Tensor) -> torch.Tensor:
    count = int(x.sum().abs())
    return torch.ones(count + 3)


def size_by_another_name(x: torch.Tensor) -> torch.Tensor:
    count = int(x.sum().abs())
    more = count + 3
    return x.sum() + torch.ones(more * 2)


def place(x: torch.Tensor) -> torch.Tensor:
    count = int(x.sum() * 0)
    return x[count + 1]


def choice(x: torch.Tensor) -> torch.Tensor:
    count = int(x.sum())
    return x if count + 1 > 3 else -x


def a_pair(x: torch.Tensor) -> tuple[torch.Tensor, int] | None:
    if x.sum() > 0:
        return x, 1
    return None


# fmt: off
def two_in_a_line(x: torch.Tensor) -> torch.Tensor:
    y = x + 1; scale = x.abs().max().item()  # noqa: E702
    return y / scale


def message_after_if(x: torch.Tensor, is_loud: bool = True) -> torch.Tensor:
    y = x + 1
    if is_loud: print("in between")  # noqa: E701
    return y * 2
# fmt: on


def elif_of_a_value(x: torch.Tensor, is_first: bool = False) -> torch.Tensor:
    if is_first:
        y = x
    elif x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y + 1


@pytest.mark.parametrize("function", [two_in_a_line, message_after_if, elif_of_a_value])
def test_nothing_is_suggested_where_the_line_holds_more(function: Function) -> None:
    assert suggested(function) is None


def test_no_gradient_goes_through_what_was_a_number() -> None:
    for function in (number, number_inside):
        change = suggested(function)
        assert change is not None
        assert ".detach()" in "\n".join(change.change.after)


@pytest.mark.parametrize(
    "function",
    [several_values, number_for_python, size, size_by_another_name, place, choice, a_pair],
)
def test_nothing_is_suggested_where_it_is_not_certain(function: Function) -> None:
    assert suggested(function) is None
