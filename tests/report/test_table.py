from __future__ import annotations

from workbench.report.machine_rows import RankedConfig
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
