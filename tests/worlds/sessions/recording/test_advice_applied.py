"""Advice is run before it is given: what each sentence says takes its recompile or break away."""

from __future__ import annotations

import enum
import gc
import inspect
import linecache
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

import workbench as wb
from workbench.worlds.sessions.findings.advice import Advice, advice
from workbench.worlds.sessions.findings.eager_code import UNTRIED

Call = tuple[Any, ...]
Calls = Callable[[], Sequence[Call]]
ones = torch.ones


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def called(
    function: Any, calls: Sequence[Call], code: Sequence[str] = (), **options: Any
) -> wb.Session:
    """A session of calls, each after the lines of a cure, in the function's own names."""
    compiled = torch.compile(function, backend="eager", **options)
    names = list(inspect.signature(getattr(function, "forward", function)).parameters)
    with wb.session() as session:
        for values in calls:
            held = {"torch": torch, **dict(zip(names, values, strict=False))}
            for line in code:
                exec(line, held)
            compiled(*(held[name] for name in names[: len(values)]))
    return session


def of(session: wb.Session, kind: str = "recompile") -> Advice:
    """The first advice of a kind."""
    return next(one for one in advice(session) if one.kind == kind)


def again(session: wb.Session) -> int:
    return int((session.frame("compiles").kind == "recompile").sum())


def two(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a @ b.T).sum() + (a - b).sum()


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def summed(xs: list[torch.Tensor]) -> torch.Tensor:
    return torch.stack([x.sum() for x in xs]).sum()


def added(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a + b


def scaled(x: torch.Tensor, by: Any) -> torch.Tensor:
    return x * by


LINES: dict[str, tuple[Any, Calls]] = {
    "a size that inputs share": (two, lambda: [(ones(n, 8), ones(n, 8)) for n in (4, 6, 9)]),
    "two sizes": (doubled, lambda: [(ones(n, n + 1),) for n in (4, 6, 9)]),
    "a size in a list": (summed, lambda: [([ones(n), ones(n)],) for n in (4, 6)]),
    "size 1 at last": (doubled, lambda: [(ones(n, 3),) for n in (4, 6, 1)]),
    "size 1 at first": (doubled, lambda: [(ones(n, 3),) for n in (1, 6)]),
    "size 0": (doubled, lambda: [(ones(n, 3),) for n in (4, 6, 0)]),
    "a size of 1 that inputs share": (
        two,
        lambda: [(ones(n, 8), ones(n, 8)) for n in (4, 6, 1)],
    ),
    "strides": (doubled, lambda: [(ones(4, 6),), (ones(6, 4).t(),)]),
    "a slice": (doubled, lambda: [(ones(4, 6),), (ones(4, 12)[:, :6],)]),
    "channels last": (
        doubled,
        lambda: [(ones(2, 3, 4, 4),), (ones(2, 3, 4, 4).to(memory_format=torch.channels_last),)],
    ),
    "strides of two": (
        added,
        lambda: [(ones(4, 6), ones(4, 6)), (ones(6, 4).t(), ones(6, 4).t())],
    ),
    "a dtype": (doubled, lambda: [(ones(4),), (ones(4).half(),)]),
    "no gradient": (doubled, lambda: [(ones(4, requires_grad=True),), (ones(4),)]),
    "a number for a tensor": (scaled, lambda: [(ones(4), torch.tensor(2.0)), (ones(4), 3.0)]),
    "one tensor for two": (added, lambda: [(ones(3), ones(3)), (x := ones(3), x)]),
    "two tensors for one": (added, lambda: [(x := ones(3), x), (ones(3), ones(3))]),
    "an input of a module of torch": (nn.Linear(3, 2), lambda: [(ones(n, 3),) for n in (4, 6)]),
}
"""Programs whose cure is lines before each call."""


@pytest.mark.parametrize("name", LINES)
def test_the_lines_of_a_cure_before_each_call_take_the_recompile_away(name: str) -> None:
    function, calls = LINES[name]
    found = of(called(function, calls()))
    assert found.code, found.sentence
    assert all(f"`{line}`" in found.sentence for line in found.code)
    torch._dynamo.reset()
    assert again(called(function, calls(), found.code)) == 0


def rooted(x: torch.Tensor, n: int) -> torch.Tensor:
    return x[:n] * n


def shaped(x: torch.Tensor, shape: tuple[int, int]) -> torch.Tensor:
    return x.reshape(shape) + 1


DYNAMIC: dict[str, tuple[Any, Calls]] = {
    "a float": (scaled, lambda: [(ones(4), by) for by in (0.3, 0.4, 0.5)]),
    "an int": (scaled, lambda: [(ones(4), by) for by in (3, 4, 5)]),
    "an int of a slice": (rooted, lambda: [(ones(9), n) for n in (3, 4, 5)]),
    "ints of a shape": (shaped, lambda: [(ones(12), s) for s in ((3, 4), (4, 3), (2, 6))]),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_a_number_is_cured_by_dynamic(name: str) -> None:
    function, calls = DYNAMIC[name]
    found = of(called(function, calls()))
    assert "compile with dynamic=True" in found.cure
    torch._dynamo.reset()
    assert again(called(function, calls(), dynamic=True)) == 0


def test_a_number_that_is_computed_with_may_be_a_tensor() -> None:
    numbers = (0.3, 0.4, 1.0)
    found = of(called(scaled, [(ones(4), by) for by in numbers]))
    assert "or pass `torch.tensor(by)` if the code only computes with it" in found.cure
    torch._dynamo.reset()
    assert again(called(scaled, [(ones(4), torch.tensor(by)) for by in numbers])) == 0


def test_static_compilation_is_named_and_cured() -> None:
    calls = [(ones(n),) for n in (4, 6)]
    assert "compile it without dynamic=False" in of(called(doubled, calls, dynamic=False)).cure
    torch._dynamo.reset()
    marks = ("torch._dynamo.maybe_mark_dynamic(x, 0)",)
    assert again(called(doubled, calls, marks)) == 0


class Kind(enum.Enum):
    """A choice."""

    ONE = 1
    OTHER = 2


def chosen(x: torch.Tensor, by: Any) -> torch.Tensor:
    return x * 2 if by in (True, "a", Kind.ONE, torch.float32) else x * 3


@pytest.mark.parametrize(
    "values",
    [(True, False), ("a", "b"), (Kind.ONE, Kind.OTHER), (torch.float32, torch.int32)],
    ids=str,
)
def test_what_is_no_number_is_never_to_be_passed_as_a_tensor(values: tuple[Any, ...]) -> None:
    calls = [(ones(3), by) for by in values]
    found = of(called(chosen, [*calls, *calls]))
    assert found.is_expected
    assert "as a tensor" not in found.sentence
    assert "expected: each value gets its own variant, compiled once" in found.cure
    assert str(values[1]) in found.text


def test_training_and_evaluation_are_two_variants_and_no_more() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout())
    compiled = torch.compile(model, backend="eager")
    with wb.session() as session:
        for is_training in (True, False, True, False):
            model.train(is_training)
            compiled(ones(2, 3))
    found = of(session)
    assert found.is_expected
    assert "self[1].training was False, not True" in found.text
    assert "a variant for training and one for evaluation" in found.cure
    assert again(session) == 1
    assert found.file.endswith("test_advice_applied.py")  # not torch's container.py
    assert linecache.getline(__file__, found.line).strip() == "compiled(ones(2, 3))"


def test_other_ranks_and_nothing_are_expected() -> None:
    for calls, words in (
        ([(ones(4),), (ones(4, 6),)], "each number of dimensions"),
        ([(ones(4),), (None,)], "calls with and without it are two variants"),
    ):
        torch._dynamo.reset()
        found = of(called(lambda x: None if x is None else x * 2, [*calls, *calls]))
        assert found.is_expected
        assert words in found.cure
        assert found.code == ()


def test_other_dimensions_ask_for_no_other_layout() -> None:
    found = of(called(doubled, [(ones(4),), (ones(4, 6),), (ones(2, 2, 2),)]))
    assert found.cure == ("expected: each number of dimensions gets its own variant, compiled once")


def test_a_tensor_of_inference_mode_is_named() -> None:
    linear = torch.compile(nn.Linear(3, 3), backend="eager")
    with wb.session() as session:
        for mode in (torch.no_grad, torch.inference_mode, torch.no_grad):
            with mode():
                linear(ones(2, 3))
    found = of(session)
    assert "input was made under inference_mode" in found.text
    assert "torch.no_grad() creates ordinary ones" in found.cure
    torch._dynamo.reset()
    with wb.session() as session:
        for _ in range(2):
            with torch.no_grad():
                linear(ones(2, 3))
    assert again(session) == 0


def test_a_size_that_the_code_asks_for_may_not_be_unbacked() -> None:
    def asking(x: torch.Tensor) -> torch.Tensor:
        return x * 3 if x.shape[0] > 3 else x + 1

    calls = [(ones(n),) for n in (5, 7, 1)]
    found = of(called(asking, calls))
    assert "mark_unbacked" not in found.cure
    assert "each branch on the size still gets its own variant" in found.cure
    torch._dynamo.reset()
    assert again(called(asking, calls, found.code)) == 1


def test_autocast_is_named_with_the_grad_mode_and_both_are_cured() -> None:
    model = nn.Linear(3, 3)

    def run(contexts: Sequence[bool]) -> wb.Session:
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="eager")
        with wb.session() as session:
            for is_on in contexts:
                with torch.set_grad_enabled(not is_on), torch.autocast("cpu", enabled=is_on):
                    compiled(ones(4, 3))
        return session

    found = of(run([False, True]))
    assert "the grad mode and autocast (cpu) changed" in found.text
    assert "call it in one grad mode and under one autocast" in found.cure
    assert again(run([True, True])) == 0


@pytest.mark.parametrize(
    ("change", "restore", "name"),
    [
        (
            lambda: torch.use_deterministic_algorithms(True),
            lambda: torch.use_deterministic_algorithms(False),
            "deterministic_algorithms",
        ),
        (
            lambda: torch.set_default_dtype(torch.float64),
            lambda: torch.set_default_dtype(torch.float32),
            "the default dtype",
        ),
    ],
)
def test_a_setting_of_torch_is_named_and_set_before_the_first_call(
    change: Callable[[], None], restore: Callable[[], None], name: str
) -> None:
    x = ones(4)

    def run(*before_calls: Callable[[], None] | None) -> wb.Session:
        torch._dynamo.reset()
        compiled = torch.compile(doubled, backend="eager")
        try:
            with wb.session() as session:
                for act in before_calls:
                    if act is not None:
                        act()
                    compiled(x)
        finally:
            restore()
        return session

    found = of(run(None, change))
    assert name in found.text
    assert found.cure == "set it once, before the first call"
    assert again(run(change, None)) == 0


class Counting(nn.Module):
    """Counts its calls in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return x * self.count


class Buffered(nn.Module):
    """Counts as the advice says."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return x * self.count


def test_a_counter_of_a_module_is_a_buffer() -> None:
    session = called(Counting(), [(ones(3),)] * 4)
    assert again(session) == 3
    assert "`self.register_buffer('count', torch.tensor(…))`" in of(session).cure
    torch._dynamo.reset()
    assert again(called(Buffered(), [(ones(3),)] * 4)) == 0


def test_a_global_number_is_a_tensor() -> None:
    module = ModuleType("settings")
    exec("def by(x):\n    return x * FACTOR", module.__dict__)
    assert again(session := _with_factors(module, [3, 4, 5])) == 2
    assert "the global FACTOR was 5, not 4" in of(session).text
    assert "wherever it is set: `FACTOR = torch.tensor(…)`" in of(session).cure
    torch._dynamo.reset()
    assert again(_with_factors(module, [torch.tensor(n) for n in (3, 4, 5)])) == 0


def _with_factors(module: ModuleType, factors: Sequence[Any]) -> wb.Session:
    compiled = torch.compile(module.by, backend="eager")
    with wb.session() as session:
        for module.FACTOR in factors:  # type: ignore[attr-defined]
            compiled(ones(3))
    return session


def test_a_number_that_a_loop_needs_is_not_to_be_a_tensor() -> None:
    def looped(x: torch.Tensor, n: int) -> torch.Tensor:
        for each in range(n):
            x = x + each
        return x

    found = of(called(looped, [(ones(3), n) for n in (2, 3, 4)]))
    assert "the code needs the number as a constant" in found.cure
    assert "tensor" not in found.cure


def test_a_size_that_the_code_fixes_is_not_to_be_marked() -> None:
    def fixed(x: torch.Tensor) -> torch.Tensor:
        return x * sum(range(int(x.shape[0])))

    found = of(called(fixed, [(ones(n),) for n in (4, 6, 8)]))
    assert "the code needs the size as a constant" in found.cure
    assert found.code == ()


def test_an_answer_of_the_code_about_a_size_is_a_program_of_its_own() -> None:
    def asking(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.shape[0] > 5 else x * 3

    found = of(called(asking, [(ones(n),) for n in (4, 6, 3, 9)], dynamic=True))
    assert found.is_expected
    assert "the code branches on the size" in found.cure


def test_keys_are_passed_in_one_order() -> None:
    def of_all(d: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.stack([d[key] for key in d]).sum(0)

    calls = [({"a": ones(3), "b": ones(3)},), ({"b": ones(3), "a": ones(3)},)]
    assert of(called(of_all, calls)).cure == "pass the same keys in the same order in every call"
    torch._dynamo.reset()
    assert again(called(of_all, [(dict(sorted(call[0].items())),) for call in calls])) == 0


def test_the_last_incomplete_batch_is_named_and_dropped() -> None:
    def run(**options: Any) -> wb.Session:
        torch._dynamo.reset()
        model = torch.compile(nn.Linear(3, 1), backend="eager")
        data = torch.utils.data.TensorDataset(torch.randn(21, 3))
        loader = torch.utils.data.DataLoader(data, batch_size=8, **options)
        with wb.session() as session:
            for (x,) in loader:
                model(x)
        return session

    found = of(run())
    assert found.cure.startswith(
        "the cause is the last, incomplete batch of the DataLoader (5 of 8): pass it drop_last=True"
    )
    assert again(run(drop_last=True)) == 0


def test_a_smaller_batch_without_a_loader_may_have_been_the_last() -> None:
    found = of(called(doubled, [(ones(n, 3),) for n in (8, 8, 5)]))
    assert "drop_last=True to the DataLoader if that was the last batch" in found.cure


def stepped(made: Callable[[Any], Any], schedule: Callable[[Any], Any] | None) -> wb.Session:
    """Steps of a compiled optimizer."""
    torch._dynamo.reset()
    model = nn.Linear(3, 3)
    optimizer = made(model.parameters())
    scheduler = None if schedule is None else schedule(optimizer)
    step = torch.compile(optimizer.step, backend="eager")
    with wb.session() as session:
        for _ in range(5):
            model(ones(2, 3)).sum().backward()
            step()
            if scheduler is not None:
                scheduler.step()
    return session


def cycle(**options: Any) -> Callable[[Any], Any]:
    return lambda optimizer: torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 0.1, total_steps=9, **options
    )


def test_a_rate_is_a_tensor_and_a_cycle_leaves_betas_alone() -> None:
    session = stepped(lambda parameters: torch.optim.AdamW(parameters, 0.1), cycle())
    found = of(session)
    assert "`lr=torch.tensor(…)`" in found.cure
    assert "`cycle_momentum=False`" in found.cure
    # a step that is compiled on its own is not to be avoided
    assert not any(
        "Avoid" in sentence or "has a graph break" in sentence for sentence in session.advice
    )
    rate = torch.tensor(0.1)
    cured = stepped(
        lambda parameters: torch.optim.AdamW(parameters, rate), cycle(cycle_momentum=False)
    )
    assert again(cured) == 0
    assert cured.advice == ()


def test_a_compiled_step_passes_a_check_of_breaks() -> None:
    session = stepped(lambda parameters: torch.optim.Adam(parameters, torch.tensor(0.1)), None)
    session.check(breaks=0)
    assert session.advice == ()


def test_a_step_called_from_compiled_code_is_not_to_be_moved() -> None:
    torch._dynamo.reset()
    model = nn.Linear(3, 3)
    optimizer = torch.optim.Adam(model.parameters(), torch.tensor(0.1))
    scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0)

    @torch.compile(backend="eager")
    def both() -> None:
        optimizer.step()
        scheduler.step()

    with wb.session() as session:
        for _ in range(3):
            model(ones(2, 3)).sum().backward()
            both()
    assert not any("before or after the compiled function" in said for said in session.advice)


def test_a_gradient_that_a_call_is_made_for_is_not_taken_away() -> None:
    found = of(called(doubled, [(ones(4),), (ones(4, requires_grad=True),)]))
    assert found.is_expected
    assert "detach" not in found.cure


def test_of_several_dtypes_the_widest_loses_nothing() -> None:
    calls = [(ones(4),), (ones(4).bfloat16(),), (ones(4).double(),)]
    assert of(called(doubled, calls)).code == ("x = x.to(torch.float64)",)


def valued(d: dict[str, torch.Tensor]) -> torch.Tensor:
    return torch.stack([value.sum() for value in d.values()]).sum()


def test_the_length_of_a_dict_is_told_as_it_was() -> None:
    found = of(called(valued, [({"a": ones(2)},), ({"a": ones(2), "b": ones(2)},)]))
    assert "because len(d) was 2, not 1" in found.text


def branching(x: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    if y.sum() > 0:
        y = y + 1
    return y.cos()


def test_a_branch_on_a_value_is_not_told_to_apply_both_sides() -> None:
    (said,) = called(branching, [(ones(4),), (-ones(4),)]).advice
    code = "y = torch.where(y.sum() > 0, y + 1, y)"
    assert said.endswith(f"Choose with torch.where: `{code}`. T{UNTRIED[1:]}.")


def splitting(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    parts = y.split(lengths.tolist())
    return torch.cat([part.cumsum(0) for part in parts])


def test_a_value_of_the_line_with_the_break_has_no_name_of_torchs() -> None:
    calls = [(ones(6), torch.tensor([n, 6 - n])) for n in (2, 3)]
    said = " ".join(called(splitting, calls).advice)
    assert "___stack" not in said
    assert "the result of the breaking line[0] was 3, not 2" in said


def masked(x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    return x if mask is None else x * mask


def test_a_first_call_without_operators_is_said_to_be_why_nothing_is_compiled() -> None:
    (said,) = called(masked, [(ones(3), None), (ones(3), ones(3))]).advice
    assert "the first call of masked ran no tensor operators, so torch has skipped it" in said


def test_a_model_that_is_cast_is_expected_to_be_compiled_once_more() -> None:
    model = nn.Linear(3, 3)
    compiled = torch.compile(model, backend="eager")
    with wb.session() as session:
        compiled(ones(2, 3))
        model.half()
        compiled(ones(2, 3).half())
    assert "expected once, when a model is cast" in of(session).cure


def test_another_backend_is_named_and_one_that_is_kept_is_none() -> None:
    with wb.session() as session:
        for backend in ("eager", "aot_eager"):
            torch.compile(doubled, backend=backend)(ones(3))
    assert "the backend was aot_eager, not eager" in of(session).text
    torch._dynamo.reset()
    with wb.session() as session:
        compiled = torch.compile(doubled, backend="aot_eager")
        for _ in range(2):
            compiled(ones(3))
    assert again(session) == 0


def test_a_function_that_is_defined_once_is_compiled_once() -> None:
    def applied(x: torch.Tensor, function: Any) -> torch.Tensor:
        return function(x)

    found = of(called(applied, [(ones(3), lambda x: x * 2), (ones(3), lambda x: x * 2)]))
    assert found.cure.startswith("use one object for all calls")
    torch._dynamo.reset()
    assert again(called(applied, [(ones(3), doubled), (ones(3), doubled)])) == 0


def test_gradients_that_are_set_to_none_keep_one_program() -> None:
    def run(*, clears: bool) -> wb.Session:
        torch._dynamo.reset()
        model = nn.Linear(3, 3)

        def loss(x: torch.Tensor) -> torch.Tensor:
            grad = model.weight.grad
            return model(x).sum() if grad is None else model(x).sum() + grad.sum()

        compiled = torch.compile(loss, backend="eager")
        with wb.session() as session:
            for _ in range(3):
                if clears:
                    model.zero_grad(set_to_none=True)
                compiled(ones(2, 3)).backward()
        return session

    found = of(run(clears=False))
    assert found.is_expected
    assert "zero_grad(set_to_none=True)" in found.cure
    assert again(run(clears=True)) == 0


def test_a_device_context_is_entered_around_all_calls() -> None:
    def run(contexts: Sequence[bool]) -> wb.Session:
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: x + ones(3), backend="eager")
        with wb.session() as session:
            for is_in in contexts:
                if is_in:
                    with torch.device("cpu"):
                        compiled(ones(3))
                else:
                    compiled(ones(3))
        return session

    assert "`with torch.device(…)`" in of(run([False, True])).cure
    assert again(run([True, True])) == 0


def test_a_parameter_of_another_size_needs_the_option_that_is_named() -> None:
    class Weighted(nn.Module):
        """A weight that is replaced."""

        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sum() * self.weight

    def run() -> wb.Session:
        torch._dynamo.reset()
        model = Weighted()
        compiled = torch.compile(model, backend="eager")
        with wb.session() as session:
            for size in (3, 5, 7):
                model.weight = nn.Parameter(ones(size))
                compiled(ones(2))
        return session

    before = run()
    assert "torch._dynamo.config.force_parameter_static_shapes = False" in of(before).cure
    with torch._dynamo.config.patch(force_parameter_static_shapes=False):
        assert again(run()) < again(before)


def test_an_array_of_numpy_is_compiled_dynamically() -> None:
    calls = [(ones(n).numpy(),) for n in (3, 4, 5)]
    found = of(called(doubled, calls))
    assert found.cure == "compile with dynamic=True, or pad inputs to a few fixed sizes"
    torch._dynamo.reset()
    assert again(called(doubled, calls, dynamic=True)) == 0


def test_the_rest_of_a_function_after_a_break_is_told_apart_and_cured() -> None:
    def printing(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        print(end="")
        return y + 1

    calls = [(ones(n),) for n in (4, 6)]
    session = called(printing, calls)
    first, rest = (one for one in advice(session) if one.kind == "recompile")
    if first.text.startswith("The part of"):
        first, rest = rest, first
    assert "printing recompiled 1 time" in first.text
    assert "The part of" in rest.text
    assert rest.cure.startswith("compile with dynamic=True")
    torch._dynamo.reset()
    assert again(called(printing, calls, dynamic=True)) == 0


def test_a_break_that_parts_operators_says_so_and_is_cured() -> None:
    def printing(x: torch.Tensor) -> torch.Tensor:
        y = x * 2 + 1
        print(end="")
        return y + 1

    def quiet(x: torch.Tensor) -> torch.Tensor:
        y = x * 2 + 1
        if not torch.compiler.is_compiling():
            print(end="")
        return y + 1

    found = of(called(printing, [(ones(3),)]), "break")
    assert "2 operators before the break cannot fuse with 1 after it" in found.detail
    assert "write the message under `if not torch.compiler.is_compiling():`" in found.cure
    torch._dynamo.reset()
    assert len(called(quiet, [(ones(3),)]).frame("breaks")) == 0


def test_a_break_with_nothing_after_it_is_harmless() -> None:
    def printing(x: torch.Tensor) -> torch.Tensor:
        y = x * 2 + 1
        print(end="")
        return y

    found = of(called(printing, [(ones(3),)]), "break")
    assert "Harmless: there are no operators after it" in found.detail
    assert found.is_expected


def test_a_call_that_torch_cannot_follow_is_moved() -> None:
    def sized(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        sys.getsizeof(x)
        return y * 2

    found = of(called(sized, [(ones(3),)]), "break")  # and no "please file an issue"
    assert found.cure == "move the line before or after the compiled call"

    def opened(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        with open(os.devnull):
            return y * 2

    torch._dynamo.reset()
    found = of(called(opened, [(ones(3),)]), "break")
    assert found.cure.startswith("read the file before the call: compute it before the compiled")


def test_the_step_of_an_optimizer_within_a_function_is_not_to_be_left_out() -> None:
    model = nn.Linear(3, 3)
    optimizer = torch.optim.Adam(model.parameters())

    @torch.compile(backend="eager")
    def step() -> None:
        optimizer.step()

    with wb.session() as session:
        for _ in range(2):
            model(ones(2, 3)).sum().backward()
            step()
    assert not any("graph_break" in one for one in session.advice)


def test_a_number_that_breaks_a_graph_is_kept_or_captured() -> None:
    def scaled_by_item(x: torch.Tensor) -> torch.Tensor:
        return x * x.sum().item() + 1

    def kept(x: torch.Tensor) -> torch.Tensor:
        return x * x.sum().detach() + 1

    session = called(scaled_by_item, [(ones(3),)])
    cure = of(session, "break").cure
    assert "keep the value as a tensor: `return x * x.sum().detach() + 1`" in cure
    torch._dynamo.reset()
    assert len(called(kept, [(ones(3),)]).frame("breaks")) == 0
    unseen = wb.Session(session.header, session.tables, {})  # without the code around the line
    assert "torch._dynamo.config.capture_scalar_outputs = True" in of(unseen, "break").cure
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        assert len(called(scaled_by_item, [(ones(3),)]).frame("breaks")) == 0


def test_a_raised_limit_compiles_what_ran_eagerly() -> None:
    calls = [(ones(3), by) for by in ("a", "b", "c")]
    with torch._dynamo.config.patch(recompile_limit=2):
        found = of(session := called(chosen, calls), "fallback")
    assert "raise torch._dynamo.config.recompile_limit" in found.cure
    assert "recompiled 1 time (" in session.advice[1]  # the third asked for it in vain
    torch._dynamo.reset()
    with torch._dynamo.config.patch(recompile_limit=3):
        assert len(called(chosen, calls).frame("fallbacks")) == 0


def test_a_size_that_is_marked_and_fixed_may_be_marked_weakly() -> None:
    def fixed(x: torch.Tensor) -> torch.Tensor:
        return x.view(2, 4) * 2

    x = ones(8)
    torch._dynamo.mark_dynamic(x, 0)
    with wb.session() as session, pytest.raises(Exception, match="Constraints violated"):
        torch.compile(fixed, backend="eager")(x)
    assert "torch._dynamo.maybe_mark_dynamic" in session.advice[0]
    torch._dynamo.reset()
    marked = called(fixed, [(ones(8),)], ("torch._dynamo.maybe_mark_dynamic(x, 0)",))
    marked.check(recompiles=0)


@pytest.mark.slow
def test_a_static_cache_of_one_length_serves_prompts_of_every_length() -> None:
    import transformers

    config = transformers.LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        vocab_size=100,
        max_position_embeddings=64,
    )

    def run(*, is_fixed: bool) -> wb.Session:
        torch._dynamo.reset()
        model: Any = transformers.LlamaForCausalLM(config).eval()
        model.forward = torch.compile(model.forward, backend="eager")
        cache = transformers.StaticCache(config=model.config, max_cache_len=16)
        with wb.session() as session, torch.no_grad():
            for length in session.steps([5, 5, 7, 9]):
                ids = torch.randint(3, 100, (1, length))  # no padding
                cache.reset()
                kept = (
                    {"past_key_values": cache} if is_fixed else {"cache_implementation": "static"}
                )
                model.generate(ids, max_new_tokens=4, do_sample=False, pad_token_id=0, **kept)
        return session

    told = " ".join(run(is_fixed=False).advice)
    assert "use one static cache length for all calls" in told
    assert "transformers.StaticCache(config=model.config, max_cache_len=…)" in told
    cured = run(is_fixed=True).frame("compiles")
    assert not (cured.step >= 2).any()  # prompts of 7 and 9 compile nothing more


def test_sizes_that_were_equal_may_differ_from_then_on() -> None:
    def both(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a.sum() + b.sum()

    calls = [(ones(4), ones(4)), (ones(4), ones(6)), (ones(5), ones(7))]
    session = called(both, calls, dynamic=True)
    assert of(session).cure.startswith("expected once: these sizes were equal")
    assert again(session) == 1


def test_a_string_for_a_number_is_another_program() -> None:
    found = of(called(chosen, [(ones(3), 3), (ones(3), "b")]))
    assert found.is_expected
    assert "dynamic" not in found.cure


def test_gradients_that_are_left_out_are_kept_as_zeros() -> None:
    def run(*, set_to_none: bool) -> wb.Session:
        torch._dynamo.reset()
        first, last = nn.Linear(3, 3), nn.Linear(3, 3)
        parameters = [*first.parameters(), *last.parameters()]
        optimizer = torch.optim.Adam(parameters, torch.tensor(0.1))
        step = torch.compile(optimizer.step, backend="eager")
        with wb.session() as session:
            for at in range(3):
                optimizer.zero_grad(set_to_none=set_to_none)
                y = first(ones(2, 3))
                (y if at % 2 else last(y)).sum().backward()
                step()
        return session

    found = of(run(set_to_none=True))
    assert found.is_expected
    assert "`zero_grad(set_to_none=False)`" in found.cure
    assert again(run(set_to_none=False)) == 0


def test_groups_of_parameters_are_added_before_the_first_step() -> None:
    def run(*, is_late: bool) -> wb.Session:
        torch._dynamo.reset()
        first, last = nn.Linear(3, 3), nn.Linear(3, 3)
        optimizer = torch.optim.Adam(first.parameters(), torch.tensor(0.1))
        step = torch.compile(optimizer.step, backend="eager")
        with wb.session() as session:
            for at in range(3):
                if at == int(is_late):
                    optimizer.add_param_group({"params": list(last.parameters())})
                last(first(ones(2, 3))).sum().backward()
                step()
        return session

    assert of(run(is_late=True)).cure == "add every parameter group before the first step"
    assert again(run(is_late=False)) == 0


def test_a_break_has_the_change_that_rehearse_has() -> None:
    track = gc.get_referents  # what a progress bar is called, and nothing that Dynamo captures

    def tracked(x: torch.Tensor) -> torch.Tensor:
        for by in track((1, 2)):
            x = x + by
        return x * 2

    found = [one for one in advice(called(tracked, [(ones(3),)])) if one.kind == "break"]
    assert found
    for one in found:
        assert "no change is known" not in one.cure
        assert "keep the progress bar out of compiled code: `for by in (1, 2) if" in one.cure
        assert one.trial == UNTRIED


def _printing(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print(end="")
    return y * 2


def _reading(x: torch.Tensor) -> torch.Tensor:
    return x * int(x.sum().item())


def _branching(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    if y.sum() > 0:
        return y * 2
    return y * 3


def _warning(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    warnings.warn("a step", stacklevel=1)
    return y * 2


def _timing(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    return y * time.time()


def _advised(session: wb.Session) -> str:
    (said,) = (
        each for each in session.advice if "has a graph break" in each or "Nothing was" in each
    )
    return said


@pytest.mark.filterwarnings("ignore:a step")
@pytest.mark.parametrize("program", [_printing, _reading, _branching, _warning, _timing])
def test_advice_on_a_break_says_that_it_was_not_tried(program: Any) -> None:
    """A session holds no call of it; rehearse runs the changes and compares."""
    assert _advised(called(program, [(ones(3),)])).endswith(f". T{UNTRIED[1:]}.")


def test_what_is_compiled_on_its_own_has_nothing_to_try() -> None:
    untried = [one for one in advice(called(_printing, [(ones(3),)])) if one.trial]
    assert [one.kind for one in untried] == ["break"]


def _scaled_by_size(x: torch.Tensor) -> torch.Tensor:
    return x * x.shape[0]


def test_a_changed_default_is_said_to_be_untried_and_a_mark_was_tried() -> None:
    calls = [(ones(3, 2),), (ones(4, 2),)]
    (fixed,) = (one for one in advice(called(_scaled_by_size, calls, dynamic=False)) if one.cure)
    assert fixed.cure.startswith("compile it without dynamic=False")
    assert fixed.sentence.endswith(". This was not tried.")
    torch._dynamo.reset()
    (marked,) = (one for one in advice(called(_scaled_by_size, calls)) if one.cure)
    assert "maybe_mark_dynamic" in marked.cure
    assert "not tried" not in marked.sentence


def _in_place(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.add_(1) + b


def _zeroed(x: torch.Tensor) -> torch.Tensor:
    x.zero_()
    return x + 1


@pytest.mark.parametrize("kind", ["aliasing", "layout", "dtype"])
def test_a_copy_of_what_the_code_writes_to_is_never_advised(kind: str) -> None:
    """As seen: `b = b.clone()` for `a.add_(1) + b` of one tensor, 3 in place of 4."""
    both = ones(3)
    function, calls = {
        "aliasing": (_in_place, [(ones(3), ones(3)), (both, both)]),
        "layout": (_zeroed, [(ones(4, 6),), (ones(6, 4).t(),)]),
        "dtype": (_zeroed, [(ones(4),), (ones(4, dtype=torch.float64),)]),
    }[kind]
    found = of(called(function, calls))
    assert found.code == ()
    assert "and a copy would lose these writes" in found.cure
