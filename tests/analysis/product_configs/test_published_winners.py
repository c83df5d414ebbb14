"""What is known to have won is part of the package, and used where it was seen to rank better."""

from __future__ import annotations

import json

import pytest

from tests.bench.winner_ranks import PUBLISHED, RECORD, SECTIONS, SOURCE, is_better
from workbench.analysis.product_configs.prior import (
    is_published_better,
    read_published,
    write_published,
)


def test_the_file_is_read_as_it_was_written() -> None:
    winners = read_published()
    assert len(winners) > 3000
    assert {one.device for one in winners} >= {"NVIDIA_H100_80GB_HBM3", "NVIDIA_B200"}
    assert all(min(one.tile) > 0 for one in winners)
    assert write_published(winners, SOURCE) == PUBLISHED.read_text()


@pytest.mark.parametrize("row", json.loads(RECORD.read_text())["rows"], ids=str)
def test_they_order_where_the_record_says_that_they_rank_better(row: dict[str, object]) -> None:
    of_experts = SECTIONS[str(row["kind"])] == "experts"
    told = is_published_better(str(row["device"]), experts=of_experts, scaled=True)
    assert told == is_better(row)


def test_no_winners_are_known_of_products_without_scales_and_of_other_gpus() -> None:
    assert not is_published_better("h100", experts=False, scaled=False)
    assert not is_published_better("l4", experts=True, scaled=True)
