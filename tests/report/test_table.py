from __future__ import annotations

import pytest

from workbench.report import Kernel, Link, Report
from workbench.report.machine_rows import RankedConfig
from workbench.report.record import list_linked_pairs
from workbench.report.table import Table


def test_a_column_is_read_by_its_former_name() -> None:
    row = RankedConfig("k0", "h100", "XBLOCK=8", 4, 1, rejection="spills 12 registers")
    stored = Table.of(RankedConfig, [row]).to_json()
    stored["columns"]["losing"] = stored["columns"].pop("rejection")
    assert list(Table.from_json(RankedConfig, stored)) == [row]


def test_unknown_columns_are_left_out_and_missing_ones_take_defaults() -> None:
    row = RankedConfig("k0", "h100", "XBLOCK=8", 4, 1)
    stored = Table.of(RankedConfig, [row]).to_json()
    stored["columns"]["later"] = [1]
    del stored["columns"]["rejection"]
    assert list(Table.from_json(RankedConfig, stored)) == [row]


def test_rows_are_made_once_while_they_are_kept_and_anew_afterwards() -> None:
    kernels = Table.of(Kernel, [Kernel("k0", "add", "cpp", "g0"), Kernel("k1", "mul", "cpp", "g0")])
    report = Report(tables={"kernels": kernels})
    before = list(report.kernels)
    with report.rows_kept(), report.rows_kept():
        first, again = list(report.kernels), list(report.kernels)
        assert first == before
        assert all(a is b for a, b in zip(first, again, strict=True))
        assert len(report.kernels) == 2
        assert not len(report.guards)
    assert next(iter(report.kernels)) is not first[0]


def test_rows_are_given_up_after_an_error() -> None:
    report = Report()
    with pytest.raises(KeyError), report.rows_kept():
        raise KeyError
    assert report.kernels == Table.of(Kernel)


@pytest.mark.parametrize("relations", ["xxy", "xyx", "yyy"])
def test_links_of_one_relation_whether_they_stand_together_or_not(relations: str) -> None:
    links = [Link(f"a{n}", f"b{n}", relation) for n, relation in enumerate(relations)]
    report = Report(tables={"links": Table.of(Link, links)})
    wanted = [(link.a, link.b) for link in links if link.relation == "x"]
    assert list(list_linked_pairs(report, "x")) == wanted
