"""What a field of a row says of its number is what every reader of it shows."""

from __future__ import annotations

from dataclasses import dataclass, field, is_dataclass, replace

import pytest

from docs.generate.tables import meanings, of_reports
from workbench.analysis.diff.report_comparison import FIGURES
from workbench.analysis.forecast import forecast
from workbench.command_line.commands import kernels_of
from workbench.report import Kernel, Report, Table, machine_rows, rows
from workbench.report.collectives import collective_rows as cluster_rows
from workbench.report.machine_rows import MatrixCell, Resources
from workbench.report.measures import Place, describe, measures, number
from workbench.views.document import document
from workbench.views.tables.column import Column
from workbench.views.tables.columns import add_numbers, list_columns, number_of
from workbench.worlds.profiles.rows import profile_rows

ROWS = {
    name: each
    for module in (cluster_rows, profile_rows, forecast, rows, machine_rows)
    for name, each in vars(module).items()
    if is_dataclass(each) and isinstance(each, type) and measures(each)
}
KERNEL = Kernel("k0", "triton_0", "triton", "i0", bytes_read=4096, time_us=12.5, occupancy=0.5)


@dataclass(frozen=True)
class Load:
    """A row with numbers."""

    kernel: str
    loads: int = field(metadata=describe("Loads", "count", "Loads of a thread"))
    wait_us: float | None = number("Waits", "us", source="measured")


def test_a_number_is_unknown_unless_its_row_must_have_it() -> None:
    assert Load("k0", 3).wait_us is None
    with pytest.raises(TypeError, match="loads"):
        Load("k0")  # type: ignore[call-arg]
    assert list(measures(Load)) == ["loads", "wait_us"]


@pytest.mark.parametrize("name", ROWS)
def test_no_title_has_the_unit_that_cells_have(name: str) -> None:
    """As seen: "Modelled, µs" above "68.7 µs"."""
    titles = [each.title for each in measures(ROWS[name]).values()]
    assert [title for title in titles if title.endswith((", µs", ", ms", ", s"))] == []


def test_a_column_has_title_unit_and_hint_of_its_field() -> None:
    assert number_of(Load, "loads", "40px").spec() == {
        "key": "loads",
        "title": "Loads",
        "width": "40px",
        "kind": "number",
        "unit": "count",
        "hint": "Loads of a thread",
    }
    column = number_of(Load, "wait_us", key="wait", hint="Of all threads")
    assert (column.value({"wait_us": 2.0}), column.hint) == (2.0, "Of all threads")
    read = next(column for column in list_columns()["costs"] if column.key == "bytes_read")
    assert (read.title, read.unit) == (measures(Kernel)["bytes_read"].title, "B")


def test_every_known_number_of_a_kernel_is_in_the_json_in_plain_units() -> None:
    (shown,) = kernels_of(Report(tables={"kernels": Table.of(Kernel, [KERNEL])}))
    assert shown["quantities"] == [
        {"name": "calls", "value": 1, "unit": "1", "source": "counted"},
        {"name": "time", "value": pytest.approx(12.5e-6), "unit": "s", "source": "measured"},
        {"name": "bytes_read", "value": 4096, "unit": "bytes", "source": "model"},
        {"name": "occupancy", "value": 0.5, "unit": "1", "source": "model"},
    ]
    whole = replace(KERNEL, **{name: 1 for name in measures(Kernel)})
    (shown,) = kernels_of(Report(tables={"kernels": Table.of(Kernel, [whole])}))
    assert len(shown["quantities"]) == len(measures(Kernel))


def test_a_diff_compares_what_configurations_say_of_themselves() -> None:
    shared = measures(MatrixCell).keys() - {"bound_us", "modelled_us"}  # of a model
    assert FIGURES.keys() == measures(Resources).keys() | shared
    assert (FIGURES["stack"], FIGURES["occupancy"], FIGURES["warps"]) == ("bytes", "share", "")


def test_the_reference_says_what_the_fields_of_a_kernel_mean() -> None:
    (frame,) = (each for each in of_reports() if each.key == "kernels")
    assert meanings(frame)["registers"] == measures(Kernel)["registers"].sentence


@dataclass(frozen=True)
class Placed:
    """A row whose number says where it stands."""

    loads: int | None = number("Loads", "B", "Of a thread", place=Place("kernel", "40px"))


def test_a_number_that_says_where_it_stands_is_a_column_by_that_alone() -> None:
    columns = add_numbers(Placed, Column("Kernel", "kernel"), Column("Lines", "lines"))
    assert [column.key for column in columns] == ["kernel", "loads", "lines"]
    assert columns[1].spec() == {
        "key": "loads",
        "title": "Loads",
        "width": "40px",
        "field": "numbers.loads",
        "kind": "number",
        "unit": "B",
        "hint": "Of a thread",
    }


def test_every_number_of_a_kernel_with_a_place_is_a_column_with_its_value() -> None:
    placed = [name for name, said in measures(Kernel).items() if said.place is not None]
    whole = replace(KERNEL, **{name: at for at, name in enumerate(placed, 2)})
    shown = document(Report(tables={"kernels": Table.of(Kernel, [whole])}))
    columns = [each for each in shown["columns"]["costs"] if each["key"] in placed]
    rows = {each["key"]: each["field"].removeprefix("numbers.") for each in columns}
    assert rows == {name: name for name in placed}
    assert shown["kernels"][0]["numbers"] == {name: at for at, name in enumerate(placed, 2)}
