from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import explained
import explained_helper
import pytest
import torch
from torch.func import jacfwd, vmap

import workbench as wb
from workbench.analysis.opportunities.rules import opportunities
from workbench.compiler.pipeline.explain import explain
from workbench.report.rows import REFUSED_CALL, REFUSED_GRAPH
from workbench.views.document import document
from workbench.views.overview.answer import answer_text
from workbench.views.panes.overview_pane import list_tree_rows

X = torch.ones(4, 4)


@pytest.mark.parametrize(
    ("fn", "breaking"),
    [
        (explained.in_loop, explained.in_loop),
        (explained.in_comprehension, explained.in_comprehension),
        (explained.in_try, explained.in_try),
        (explained.caught, explained.caught),
        (explained.branching, explained.branching),
        (explained.in_helper, explained_helper.helper),
        (explained.Parent(), explained.Sub),
    ],
)
def test_each_break_once_on_the_right_line(fn: Callable[..., Any], breaking: Any) -> None:
    explanation = explain(fn, (X,))
    assert sorted(b.line for b in explanation.breaks) == explained.marked(breaking)
    for found in explanation.breaks:
        assert found.text.endswith(explained.MARK)
        assert found.gb_id is not None
        assert found.count >= 1
        assert found.file.endswith(f"{breaking.__module__}.py")


def test_a_clean_function_is_one_graph() -> None:
    explanation = explain(explained.clean, (X,))
    assert (explanation.breaks, explanation.graph_count) == ((), 1)
    assert explanation.op_count > 3
    assert explanation.guards
    assert repr(explanation).startswith("Explanation(0 breaks, 1 graph,")
    assert "no graph break" in str(explanation)


def test_graphs_and_operators_are_counted_as_torch_compile_would_make_them() -> None:
    explanation = explain(explained.branching, (X,))
    assert explanation.graph_count == 2
    assert [g.stage for g in explanation.report.graphs] == ["dynamo", "dynamo"]


def test_what_is_only_looked_at_further_counts_nowhere() -> None:
    found = explain(explained.Experts(), explained.EXPERTS_INPUT)
    assert found.graph_count == len(found.report.graphs) == 2  # an expert, then one of any size
    assert "2 graphs of its callees are" in answer_text(found.report)
    assert "Experts.forward falls back to eager" in answer_text(found.report)
    alone = explain(explained.in_loop, (X,))
    assert (alone.graph_count, len(alone.report.graphs)) == (0, 0)


def test_functions_are_named_with_their_classes() -> None:
    report = explain(explained.Experts(), explained.EXPERTS_INPUT).report
    assert [row.function for row in report.breaks] == ["Experts.forward"]
    assert [row.function for row in report.recompiles] == ["Expert.forward"]
    again = next(row for row in opportunities(report) if row.rule == "recompiled")
    assert again.text.startswith("Compile with dynamic=True: ")
    assert again.after == ("torch.compile(model, dynamic=True)",)
    rows, _ = list_tree_rows(report, document(report)["sources"])
    functions = [row["name"] for row in rows if row["kind"] == "function"]
    assert "Experts.forward" in functions


def test_an_error_of_the_function_is_raised() -> None:
    def wrong(x: torch.Tensor) -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        explain(wrong, (X,))


def test_what_was_compiled_before_stays_compiled() -> None:
    torch.compiler.reset()
    graphs: list[Any] = []

    def backend(module: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        graphs.append(module)
        return module.forward

    compiled = torch.compile(explained.branching, backend=backend)
    compiled(X)
    before = len(graphs)
    assert len(explain(compiled, (X,)).breaks) == 1
    compiled(X)
    assert len(graphs) == before


def test_a_function_that_dynamo_skips_is_looked_at_again() -> None:
    torch.compiler.reset()
    torch.compile(explained.in_try, backend="eager")(X)
    lines = [b.line for b in explain(explained.in_try, (X,)).breaks]
    assert sorted(lines) == explained.marked(explained.in_try)


def test_the_random_state_and_counters_are_left_alone() -> None:
    from torch._dynamo.utils import counters

    counters.clear()
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    explain(lambda x: x + torch.rand(1), (X,))
    assert torch.equal(torch.rand(1), expected)
    assert not counters["stats"]


def test_the_second_look_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    explain(explained.in_try, (X,))
    assert capsys.readouterr().out.split() == ["one", "two"]


def test_a_second_run_that_ends_early_is_said_to() -> None:
    def guarded(x: torch.Tensor) -> torch.Tensor:
        try:
            if x.sum() > 0:
                raise ValueError("caught by the function itself")
        except ValueError:
            x = x + 1
        return x

    found = explain(guarded, (torch.ones(3),))
    assert [row.text for row in found.breaks] == ["if x.sum() > 0:"]
    (note,) = found.report.request.notes
    assert "raised ValueError: caught by the function itself" in note


def test_recompilations_are_those_of_the_call_alone() -> None:
    def inner(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def loop(batches: list[torch.Tensor]) -> float:
        total = 0.0
        for batch in batches:
            total += inner(batch).sum().item()
        return total

    found = explain(loop, ([torch.ones(n) for n in (4, 4, 3)],)).report.recompiles
    assert [(row.function, row.reason.partition(": ")[2]) for row in found] == [
        ("inner", "tensor 'x' size mismatch at index 0. expected 4, actual 3")
    ]


def test_a_branch_of_cond_that_is_not_captured_is_a_break() -> None:
    def fn(x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x, (x,))

    (found,) = explain(fn, (X,)).breaks
    assert (found.line, found.gb_id) == (fn.__code__.co_firstlineno + 1, "GB0040")
    assert found.kind == "Encountered aliasing during higher order op tracing"
    with pytest.raises(wb.CaptureError, match="in one graph: Encountered aliasing") as caught:
        wb.aot_compile(fn, (X,), backend="eager")
    assert "at " in str(caught.value)
    assert "return input.clone()" in str(caught.value)


def test_each_reason_why_breaks_may_be_missing_is_told() -> None:
    def fn(x: torch.Tensor) -> Any:
        try:
            if x.sum() > 0:
                raise ValueError("caught by the function itself")
        except ValueError:
            x = x + 1
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x, (x,))

    ended, second = explain(fn, (X,)).report.request.notes
    assert "at a torch.cond (or similar) that was not captured" in ended
    assert "the second run" in second


def test_torch_repeats_no_break_on_the_screen(capfd: pytest.CaptureFixture[str]) -> None:
    import hashlib

    def fn(x: torch.Tensor) -> float:
        return (x + len(hashlib.md5(b"a").digest())).sum().item()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(explain(fn, (X,)).breaks) == 3
    assert "Graph break from" not in capfd.readouterr().err


def test_nothing_of_torch_comes_to_the_screen(capfd: pytest.CaptureFixture[str]) -> None:
    def wrong(x: torch.Tensor) -> torch.Tensor:
        return x @ torch.ones(7, 7)

    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        explain(wrong, (X,))
    assert capfd.readouterr() == ("", "")


def test_breaks_that_a_first_call_only_causes_are_marked() -> None:
    table: dict[str, torch.Tensor] = {}
    made = torch.compiler.disable(lambda: torch.ones(4))

    def fn(x: torch.Tensor) -> torch.Tensor:
        if "ones" not in table:
            table["ones"] = made()
        if x.sum() > 0:
            x = x + 1
        return x * table["ones"]

    first, always = explain(fn, (X,)).breaks
    assert first.hints[0].startswith("Only a first call breaks here")
    assert not any(hint.startswith("Only a first call") for hint in always.hints)


def test_the_later_runs_write_into_copies_of_the_inputs() -> None:
    def counts(x: torch.Tensor, seen: list[int]) -> torch.Tensor:
        x.add_(1)
        seen.append(1)
        print("in between")
        return x * 2

    x, seen = torch.zeros(3), [0]
    assert explain(counts, (x, seen)).breaks
    assert (x.tolist(), seen) == ([1.0] * 3, [0, 1])


def test_the_later_runs_leave_the_buffers() -> None:
    norm = torch.nn.BatchNorm1d(3)

    class Printing(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = norm

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            print("in between")
            return self.norm(x)

    assert explain(Printing(), (torch.randn(4, 3),)).breaks
    assert norm.num_batches_tracked.item() == 1


def test_two_threads_explain_one_after_the_other() -> None:
    def explained() -> int:
        return len(wb.explain(chatting, (torch.ones(3),)).breaks)

    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(explained) for _ in range(4)]
        assert [each.result(60) for each in found] == [1] * 4


def chatting(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print("in between")
    return y * 2


def write_at(cache: torch.Tensor, x: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
    cache[:, pos] = x
    return cache * 2


def read_at(cache: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
    return cache[:, pos] * 2


def chunked(x: torch.Tensor) -> Any:
    return vmap(jacfwd(lambda y: y * 2), chunk_size=2)(x)


CACHE, POSITION = torch.zeros(2, 8, 3), torch.tensor(3)


@pytest.mark.parametrize(
    ("fn", "args", "kind", "words"),
    [
        (write_at, (CACHE, torch.ones(2, 3), POSITION), REFUSED_GRAPH, "a write at an index needs"),
        (read_at, (CACHE, POSITION), REFUSED_GRAPH, "a read at an index needs the value"),
        (chunked, (torch.ones(4, 3),), REFUSED_CALL, "mul runs in eager but fails"),
    ],
)
def test_what_torch_cannot_compile_is_a_break_on_its_line(
    fn: Callable[..., Any], args: tuple[Any, ...], kind: str, words: str
) -> None:
    found = explain(fn, args)
    assert [row.kind for row in found.breaks] == [kind]
    assert words in found.breaks[0].reason
    assert found.breaks[0].line == fn.__code__.co_firstlineno + 1
    assert found.graph_count == 0
    assert "no graph break" not in str(found)


def test_a_call_without_a_break_is_not_said_to_be_compiled() -> None:
    assert "no graph break; captured and traced; Inductor was not run" in str(
        explain(explained.clean, (X,))
    )


def test_dynamo_keeps_nothing_of_an_explanation() -> None:
    x = torch.ones(3)
    gone = weakref.ref(x)
    explain(lambda y: y + 1, (x,))
    del x
    gc.collect()
    assert gone() is None
