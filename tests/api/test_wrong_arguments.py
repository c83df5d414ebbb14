"""Whatever a public function is given, an error is one of ours and names what is wrong."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

import workbench as wb
from tests.api.examples import calls_of, quick_examples, read_attributes, slow_examples
from tests.api.odd_values import cyclic, nested, raising, returned_values
from tests.api.wrong_arguments import (
    Call,
    calls,
    calls_with_odd_answers,
    outcome,
    scaled,
    wrong_calls,
)
from workbench.arguments import ask, checked
from workbench.report import Report
from workbench.tasks.progress_events import ProgressCallback

STEP = 83  # with 62 kinds of wrong values each kind and each parameter has its turn


def failures(folder: Path, backend: str, step: int) -> list[str]:
    found, number = raised_by(calls(folder, backend=backend), step)
    assert number > 2000
    return found


def raised_by(calls: Iterable[Call], step: int) -> tuple[list[str], int]:
    """The errors that are not ours of each so many-th wrong call, and how many calls there are."""
    found = []
    number = 0
    for call in calls:
        if not is_checked(call.function) and not call.name.endswith("__call__"):
            found.append(f"{call.name} does not check its arguments as all others do")
        for label, run in wrong_calls(call):
            number += 1
            if number % step:
                continue
            with contextlib.redirect_stdout(io.StringIO()):
                wrong = outcome(run, is_lookup=call.name.endswith("__getitem__"))
            if wrong is not None:
                found.append(f"{label}: {wrong}")
    return found, number


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that files are written to, and a data folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AOT_WORKBENCH_DATA", str(tmp_path / "data"))
    return tmp_path


@pytest.mark.world("clusters", "expectations", "numerics", "own_kernels", "sessions", "sweeps")
@pytest.mark.filterwarnings("ignore")
def test_a_sample_of_wrong_arguments(elsewhere: Path) -> None:
    assert failures(elsewhere, "eager", STEP) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_wrong_argument(elsewhere: Path) -> None:
    assert failures(elsewhere, "inductor", 1) == []


@pytest.mark.filterwarnings("ignore")
def test_a_sample_of_wrong_arguments_of_what_is_handed_out(elsewhere: Path) -> None:
    examples = quick_examples()
    assert [name for name, read in read_attributes(examples) if outcome(read)] == []
    found, number = raised_by(calls_of(examples, elsewhere), STEP)
    assert found == []
    assert number > 700


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_wrong_argument_of_what_is_handed_out(elsewhere: Path) -> None:
    examples = quick_examples() | slow_examples()
    assert [name for name, read in read_attributes(examples) if outcome(read)] == []
    found, number = raised_by(calls_of(examples, elsewhere), 1)
    assert found == []
    assert number > 2500


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_whatever_a_function_of_the_user_returns(elsewhere: Path) -> None:
    """An error out of what it returned is ours, and names the argument."""
    found = [
        f"{name} ({kind}): {wrong}"
        for name, call in calls_with_odd_answers(elsewhere).items()
        for kind, make in returned_values().items()
        if (wrong := outcome(functools.partial(call, make())))
    ]
    assert found == []


def is_checked(function: Any) -> bool:
    """Whether it has no arguments, or the decorator around it."""
    if not inspect.signature(function).parameters:
        return True
    inner = getattr(function, "__func__", function)
    while inner is not None:
        if inner.__code__.co_filename == checked.__code__.co_filename:
            return True
        inner = getattr(inner, "__wrapped__", None)
    return False


Level = Literal["light", "full"]


@checked
def example(
    path: str | PathLike[str] = "a",
    count: int | None = None,
    share: float = 0.5,
    flag: bool = False,
    names: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    call: Callable[..., Any] | None = None,
    judge: Callable[[Any, Any], bool] | None = None,
    progress: ProgressCallback | None = None,
    level: Level = "light",
    anything: Any = None,
) -> str:
    return "ran"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"path": 3}, "of type int: expected a str or a pathlib.Path"),
        ({"path": "a\0b"}, "it contains a null byte"),
        ({"path": "\ud800"}, "lone surrogate"),
        ({"path": ""}, "it is empty"),
        ({"path": "x" * 300}, "longer than 255 bytes"),
        ({"count": -1}, "count is -1: expected a whole number ≥ 0"),
        ({"count": 1.5}, r"count is 1\.5: expected a whole number or None"),
        ({"count": True}, "count is True: expected a whole number or None"),
        ({"count": 10**30}, "expected at most"),
        ({"share": float("nan")}, "share is nan: expected a number ≥ 0"),
        ({"share": "x"}, "share is 'x': expected a number"),
        ({"flag": 1}, "flag is 1: expected True or False"),
        ({"names": "abc"}, "names is 'abc': expected a list of texts"),
        ({"names": [1]}, r"names is \[1\]: its item 1 is not a text"),
        ({"names": (n for n in "ab")}, "expected a list of texts"),
        ({"options": {1: 2}}, "its key 1 is not a text"),
        ({"options": 3}, "options is 3: expected a dict"),
        ({"call": 3}, "call is 3: expected a function or None"),
        ({"judge": lambda one: True}, r"judge is .*: it is called with 2 arguments \(too many"),
        ({"progress": lambda: None}, r"progress is .*: it is called with 2 arguments \(too many"),
        ({"progress": 3}, r"expected a function \(phase name, seconds\) or None"),
        ({"level": "some"}, "level is 'some': expected 'light' or 'full'"),
        ({"level": ["light"]}, "expected 'light' or 'full'"),
    ],
)
def test_an_argument_is_named_with_what_was_expected(given: dict[str, Any], words: str) -> None:
    with pytest.raises(wb.UsageError, match=words):
        example(**given)


def test_what_is_missing_is_refused_in_the_same_way() -> None:
    with pytest.raises(wb.UsageError, match="load: missing a required argument: 'path'"):
        wb.load()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda report: report.frame("kernls"), "Did you mean 'kernels'?"),
        (lambda report: report.plot("roofine"), "Did you mean 'roofline'?"),
        (lambda report: wb.expect(report, brakes=0), "Did you mean 'breaks'?"),
        (lambda report: wb.memory(report).frame("allocation"), "Did you mean 'allocations'?"),
        (
            lambda _: wb.aot_compile(torch.relu, (), mode="max-autotun"),
            "Did you mean 'max-autotune'?",
        ),
        (lambda _: wb.aot_compile(torch.relu, (), backend="inducter"), "Did you mean 'inductor'?"),
    ],
)
def test_the_name_that_was_meant_is_said(
    sample_report: Report, ask: Callable[[Report], Any], words: str
) -> None:
    with pytest.raises(wb.UsageError) as raised:
        ask(sample_report)
    assert str(raised.value).endswith(words)


def test_what_is_as_declared_runs() -> None:
    given: dict[str, Any] = {"count": 3, "share": 1, "names": ["a"], "options": {"a": 1}}
    given |= {"judge": int, "progress": print}  # of `int` Python does not know what it takes
    assert example(Path("a"), **given, call=len, level="full", anything=object()) == "ran"
    assert example(b"a") == "ran"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"path": "a", "cuont": 3}, "example: unknown argument cuont: did you mean count?"),
        ({"path": "a", "wholly_new": 3}, "unknown argument wholly_new: it takes path, "),
    ],
)
def test_an_argument_that_is_not_there_has_one_that_was_meant(
    given: dict[str, Any], words: str
) -> None:
    """Python's own sentence names no other, and came with two frames of ours."""
    with pytest.raises(wb.UsageError) as raised:
        example(**given)
    assert words in str(raised.value)
    assert isinstance(raised.value, TypeError)  # as Python has it
    assert raised.value.__cause__ is None
    assert len(raised.traceback) == 2  # the call, and where it is refused


def test_an_error_shows_the_call_and_not_where_we_found_it() -> None:
    def fails(x: torch.Tensor) -> torch.Tensor:
        return x @ torch.ones(3, 4)

    with pytest.raises(wb.CaptureError) as raised:
        wb.aot_compile(fails, (torch.ones(2, 2),))
    frames = [Path(entry.path).name for entry in raised.traceback]
    assert frames == [Path(__file__).name, "host.py", "arguments.py"]


class Refusing(Executor):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def submit(self, *_: Any, **__: Any) -> Any:
        return self.answer


def test_an_executor_that_takes_no_work_is_named() -> None:
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(wb.UsageError, match=r"\(a ThreadPoolExecutor\) does not accept work"):
        ask(closed, dict)
    for answer in (None, 3, "x"):
        with pytest.raises(wb.UsageError, match=r"returned .*: expected a concurrent\.futures"):
            ask(Refusing(answer), dict)
    lost: Future[Any] = Future()
    lost.set_exception(ModuleNotFoundError("No module named 'workbench'"))
    with pytest.raises(wb.UsageError, match="no worker of executor, a Refusing, responds"):
        ask(Refusing(lost), dict)


def test_scaling_refuses_an_executor_and_a_node_as_other_verbs_do() -> None:
    def build() -> Any:
        raise AssertionError("nothing is built")

    asked = {"gpus_per_node": 0}, {"nvlink_gb_s": 0.0}, {"nic_gb_s": 0.0}
    for wrong in asked:
        with pytest.raises(wb.UsageError, match=next(iter(wrong))):
            wb.scaling(build, meshes=[{"dp": 2}, {"dp": 4}], target="h100", **wrong)


class _Unreadable(list[int]):
    def __iter__(self) -> Any:
        raise RuntimeError("no items")

    def __fspath__(self) -> str:
        raise RuntimeError("no path")


def test_an_object_whose_own_methods_raise_is_refused_by_its_name() -> None:
    with pytest.raises(wb.UsageError, match=r"path is a .*raises when it is read.*no path"):
        wb.load(type("Path", (), {"__fspath__": _Unreadable.__fspath__})())
    with pytest.raises(wb.UsageError, match=r"ranks is a _Unreadable.*no items"):
        wb.ranks(lambda mesh: None, {"dp": 2}, _Unreadable([1]))


def test_a_number_within_a_container_says_its_range() -> None:
    with pytest.raises(wb.UsageError, match=r"its value 9\d+: expected at most 9"):
        wb.ranks(lambda mesh: None, {"dp": 2**63})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            raising("__len__")(),
            r"anything is a NoLen that raises when it is read \(RuntimeError: no __len__",
        ),
        ([raising("__len__")()], "anything is a NoLen that raises when it is read"),
        (cyclic(), "anything nests deeper than 200 levels, or contains itself"),
        (nested(), "anything nests deeper than 200 levels, or contains itself"),
    ],
)
def test_what_an_argument_raises_where_it_is_read_names_the_argument(
    wrong: Any, words: str
) -> None:
    """Within torch, or wherever it is read first: no check beforehand asks everything."""
    functions: dict[str, Any] = {"checked": checked}
    exec(compile(MEASURE, checked.__code__.co_filename, "exec"), functions)  # as code of ours
    with pytest.raises(wb.UsageError, match=words):
        functions["measure"](wrong)


MEASURE = """
def read(value):
    if isinstance(value, int):
        return value
    return sum(map(read, value)) if isinstance(value, list) else len(value)

@checked
def measure(anything):
    return read(anything)
"""


def test_what_a_function_of_the_user_raises_is_raised() -> None:
    """Also where that reads an argument."""

    def fn(x: Any) -> int:
        return len(x)

    with pytest.raises(RuntimeError, match="no __len__"):
        wb.explain(fn, (raising("__len__")(),))


def test_numbers_of_numpy_are_numbers(elsewhere: Path) -> None:
    sweep = wb.sweep(scaled, (torch.ones(4, 4),), over={"backend": ["eager"]})
    assert repr(sweep.report(np.int64(0))) == repr(sweep.report(0))  # type: ignore[arg-type]
