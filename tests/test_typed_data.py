"""Plain data as typed rows: what fits is read, what does not is named with its place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

import pytest

from workbench.errors import ArtifactError
from workbench.report import Kernel, Report
from workbench.report.profile_record import MEASURED, MeasuredCall, read_measured_call
from workbench.report.table import Table
from workbench.report.trials import Trial
from workbench.typed_data import Misfit, read_columns, read_row, read_value


@dataclass(frozen=True)
class Inner:
    name: str
    size: int = 1


@dataclass(frozen=True)
class Outer:
    count: int
    share: float = 0.0
    kind: Literal["a", "b"] = "a"
    is_on: bool = False
    names: tuple[str, ...] = ()
    pairs: tuple[tuple[str, int], ...] = ()
    dims: tuple[int | Inner, ...] = ()
    inner: Inner | None = None
    rows: tuple[Inner, ...] = ()
    named: Mapping[str, Inner] = field(default_factory=dict)
    by_place: Mapping[int, float] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    newer: str = field(default="", metadata={"former": "older"})


class Message(TypedDict):
    id: str
    sizes: list[int]
    note: NotRequired[str]


def test_a_row_is_read_with_all_that_it_holds() -> None:
    row = {
        "count": 3,
        "share": 1,
        "kind": "of a later version",
        "names": ["x"],
        "pairs": [["a", 1], ["b", 2]],
        "dims": [4, {"name": "n"}],
        "inner": {"name": "i"},
        "rows": [{"name": "r", "size": 2}],
        "named": {"k": {"name": "v"}},
        "by_place": {"7": math.inf},
        "flags": ["f"],
        "older": "o",
        "unknown": object(),
    }
    assert read_row(Outer, row) == Outer(
        3,
        1.0,
        "of a later version",
        False,
        ("x",),
        (("a", 1), ("b", 2)),
        (4, Inner("n")),
        Inner("i"),
        (Inner("r", 2),),
        {"k": Inner("v")},
        {7: math.inf},
        frozenset("f"),
        "o",
    )  # type: ignore[arg-type]
    assert read_row(Outer, {"count": 0}) == Outer(0)
    assert math.isnan(read_row(Outer, {"count": 0, "share": math.nan}).share)


def test_a_text_of_a_class_of_its_own_is_a_text() -> None:
    """As torch.__version__ is, in a record that was never in a file."""
    read = read_row(Inner, {"name": type("Version", (str,), {})("2.13"), "size": 3})
    assert type(read.name) is str
    with pytest.raises(Misfit):
        read_row(Inner, {"name": "a", "size": True})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"count": "3"}, "count is '3': expected a whole number"),
        ({"count": True}, "count is True: expected a whole number"),
        ({"count": 3.0}, "count is 3.0: expected a whole number"),
        ({"share": "x"}, "share is 'x': expected a number"),
        ({"kind": 5}, "kind is 5: expected 'a' or 'b'"),
        ({"is_on": 1}, "is_on is 1: expected true or false"),
        ({"names": "ab"}, "names is 'ab': expected a list of texts"),
        ({"names": ["a", 5]}, "names[1] is 5: expected a text"),
        ({"pairs": [["a", 1], ["b"]]}, "pairs[1] is ['b']: expected a list of 2"),
        ({"pairs": [["a", 1], ["b", None]]}, "pairs[1][1] is None: expected a whole number"),
        ({"dims": [4, {}]}, "dims[1].name is missing: expected a text"),
        ({"dims": [4, None]}, "dims[1] is None: expected a dict"),
        ({"inner": 7}, "inner is 7: expected a dict"),
        ({"inner": {"name": []}}, "inner.name is []: expected a text"),
        ({"rows": [{"name": "r"}, {"size": 2}]}, "rows[1].name is missing: expected a text"),
        ({"named": [1]}, "named is [1]: expected a dict"),
        ({"named": {"k": {"name": 1}}}, "named['k'].name is 1: expected a text"),
        ({"by_place": {"x": 1}}, "by_place, a key, is 'x': expected a whole number"),
        ({"flags": [1]}, "flags is [1]: expected a list of texts"),
        ({"older": 5}, "older is 5: expected a text"),
    ],
)
def test_another_type_is_refused_with_its_place(change: dict[str, Any], words: str) -> None:
    with pytest.raises(Misfit) as caught:
        read_row(Outer, {"count": 1, **change})
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "count is missing: expected a whole number"),
        ([], "it is []: expected a dict"),
        (None, "it is None: expected a dict"),
    ],
)
def test_what_is_no_row_is_refused(data: Any, words: str) -> None:
    with pytest.raises(Misfit) as caught:
        read_row(Outer, data)
    assert str(caught.value) == words


def test_a_message_has_its_known_fields_alone() -> None:
    assert read_value(Message, {"id": "a", "sizes": [1], "more": 2}) == {"id": "a", "sizes": [1]}
    with pytest.raises(Misfit, match=r"sizes\[1\] is None: expected a whole number"):
        read_value(Message, {"id": "a", "sizes": [1, None]})
    with pytest.raises(Misfit, match="note is 5: expected a text"):
        read_value(Message, {"id": "a", "sizes": [], "note": 5})
    with pytest.raises(Misfit, match="id is missing"):
        read_value(Message, {"sizes": []})


def test_of_several_shapes_the_one_that_fits_is_read() -> None:
    kind = Inner | tuple[int, ...] | None
    assert read_value(kind, {"name": "a"}) == Inner("a")
    assert read_value(kind, [1, 2]) == (1, 2)
    assert read_value(kind, None) is None
    with pytest.raises(Misfit, match=r"it is \['a'\]: expected a dict or a list of whole numbers"):
        read_value(kind, ["a"])


def test_a_type_without_a_reader_is_a_fault_of_the_program() -> None:
    with pytest.raises(TypeError, match="is a type without a reader"):
        read_value(type[int], 5)


def test_columns_are_read_as_rows_are() -> None:
    stored = {"count": [1, 2], "names": [["a"], []], "dims": [[1, {"name": "n"}], [2]]}
    stored |= {"pairs": [[["a", 1]], []], "inner": [None, {"name": "i"}], "unknown": [1, 2]}
    columns = read_columns(Outer, stored)
    assert list(Table(Outer, columns)) == [
        read_row(Outer, {name: values[at] for name, values in stored.items()}) for at in range(2)
    ]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"count": [1, "2"]}, "count[1] is '2': expected a whole number"),
        ({"count": [1], "names": [["a", 5]]}, "names[0][1] is 5: expected a text"),
        ({"count": [1], "pairs": [[["a", 1], ["b", "2"]]]}, "pairs[0][1][1] is '2': expected"),
        ({"count": "12"}, "count is '12': expected a list"),
        ({"count": [1], "names": []}, "the columns differ in length"),
        ({"count": 5}, "count is 5: expected a list"),
    ],
)
def test_a_column_of_another_type_names_its_row(columns: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the words are compared below)
        read_columns(Outer, columns)
    assert words in str(caught.value)


def test_a_column_that_an_older_version_lacks_can_be_written_and_read_again() -> None:
    table = Table.of(Kernel, [Kernel("k0", "add", "cpp", "g0")])
    stored = table.to_json()
    del stored["columns"]["name"]
    once = Table.from_json(Kernel, stored)
    assert once.columns["name"] == [None]
    assert Table.from_json(Kernel, once.to_json()) == once


def test_a_report_with_a_column_of_another_type_is_refused_in_a_sentence() -> None:
    data = Report(tables={"kernels": Table.of(Kernel, [Kernel("k0", "add", "cpp", "g0")])})
    stored = data.to_json()
    stored["tables"]["kernels"]["columns"]["name"] = [7]
    words = r"table of Kernel\): name\[0\] is 7: expected a text"
    with pytest.raises(ArtifactError, match=words):
        Report.from_json(stored)
    damaged = Report(tables={"kernels": Table(Kernel, {"id": ["k0"], "name": [7]})}).to_bytes()
    with pytest.raises(ArtifactError, match=words):
        _ = Report.from_bytes(damaged).tables["kernels"]


def test_a_measured_call_of_another_type_is_refused_in_a_sentence() -> None:
    fits = {"call_us": 1.0, "call_spread_us": 0, "eager_us": None, "repeats": 3}
    assert read_measured_call(Report(extra={MEASURED: fits})) == MeasuredCall(1.0, 0, None, 3)
    with pytest.raises(
        ArtifactError, match=r"its measured call\): call_us is 'x': expected a number"
    ):
        read_measured_call(Report(extra={MEASURED: {**fits, "call_us": "x"}}))


def test_a_trial_names_the_place_of_what_is_wrong() -> None:
    data = Trial("k", (("mode", "default"),)).to_json()
    for change, words in (
        ({"samples_us": [[1.0], ["2"]]}, r"samples_us\[1\]\[0\] is '2'"),
        ({"settings": [["mode", 5]]}, r"settings\[0\]\[1\] is 5"),
        ({"kernels": 1.5}, "kernels is 1.5: expected a whole number or None"),
    ):
        with pytest.raises(Misfit, match=words):
            Trial.from_json({**data, **change})
