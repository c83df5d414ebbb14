"""The time of a collective: against published logs, by its links, and where it has none."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import pytest

from workbench.analysis.collectives.links import (
    ERRORS,
    LEAST_CHECKED_BYTES,
    MOST_CHECKED_NODES,
    NIC_SHARE,
    Links,
    estimate_collective,
    find_links,
)
from workbench.specs import Catalogue

GPUS = Catalogue.built_in()
PUBLISHED = Path(__file__).parent / "published_collectives.csv"
H100 = Links(nvlink_gbs=360.0, nic_gbs=45.0, major=9)


def time_it(op: str, sent: int, ranks: int, nodes: int = 1, links: Links = H100) -> float:
    made = estimate_collective(op, sent, ranks, nodes, links)
    assert made is not None
    return made.us


@pytest.mark.parametrize("nodes", [1, 2])
def test_four_of_five_published_times_lie_within_the_error_that_is_told(nodes: int) -> None:
    off = []
    with PUBLISHED.open() as file:
        for row in csv.DictReader(file):
            if min(int(row["nodes"]), 2) != nodes:
                continue
            card = float(row["nic_gbit_s"] or 0) / 8 * NIC_SHARE
            links = find_links(GPUS[row["device"]], {"nic_gb_s": card} if card else {})
            assert isinstance(links, Links)
            us = time_it(row["op"], int(row["bytes"]), int(row["ranks"]), int(row["nodes"]), links)
            off.append(abs(us / float(row["us"]) - 1))
    off.sort()
    assert len(off) > 40
    assert off[int(0.8 * len(off))] == pytest.approx(ERRORS[nodes - 1], abs=0.02)


def test_the_validated_sizes_are_those_of_the_published_times() -> None:
    with PUBLISHED.open() as file:
        rows = list(csv.DictReader(file))
    assert max(int(row["nodes"]) for row in rows) == MOST_CHECKED_NODES
    assert min(int(row["bytes"]) for row in rows) == LEAST_CHECKED_BYTES
    single = sum(int(row["nodes"]) == 1 for row in rows)
    assert (single, len(rows) - single) == (49, 45)


def test_a_group_with_all_gpus_of_its_nodes_has_all_their_network_cards() -> None:
    """64 ranks on 8 nodes share 8 cards a node; 64 on 64 nodes have one each."""
    close, far = (time_it("all_gather", 2**30, 64, nodes) for nodes in (8, 64))
    assert far / close == pytest.approx(8, rel=0.2)


def test_latency_grows_with_the_ranks_of_a_ring() -> None:
    assert time_it("all_gather", 8192, 64, 64) > 2 * time_it("all_gather", 8192, 8, 8)


def test_an_all_reduce_of_a_node_takes_the_switches_where_they_add_up() -> None:
    made = [estimate_collective("all_reduce", 2**28, ranks, 1, H100) for ranks in (8, 4)]
    assert [each and each.words for each in made] == ["NVLS", "ring/simple"]
    older = Links(nvlink_gbs=230.0, nic_gbs=22.5, major=8)
    ampere = estimate_collective("all_reduce", 2**28, 8, 1, older)
    assert ampere is not None
    assert ampere.words == "ring/simple"


def test_a_group_of_one_sends_nothing() -> None:
    assert time_it("all_reduce", 2**30, 1) == 0


def test_an_operator_without_a_model_has_no_time() -> None:
    assert estimate_collective("isend", 2**20, 2, 1, H100) is None


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("h100-pcie", {}, "the link rates of h100-pcie are not known: pass nvlink_gb_s and nic"),
        ("a10", {"nvlink_gb_s": 20.0}, "the link rates of a10 are not known: pass nic_gb_s"),
        ("mi300x", {}, "mi300x communicates with RCCL"),  # giving rates would not help
        ("mi300x", {"nvlink_gb_s": 320.0, "nic_gb_s": 45.0}, "mi300x communicates with RCCL"),
    ],
)
def test_without_data_of_links_a_sentence_says_what_to_give(
    name: str, given: Mapping[str, float], said: str
) -> None:
    found = find_links(GPUS[name], given)
    assert isinstance(found, str)
    assert said in found


def test_rates_that_were_given_hold_as_they_are() -> None:
    found = find_links(GPUS["h100"], {"nvlink_gb_s": 200.0, "nic_gb_s": 20.0})
    assert found == Links(nvlink_gbs=200.0, nic_gbs=20.0, major=9)
