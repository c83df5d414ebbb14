"""Collectives: bytes, group, what is exposed, the bandwidth of the bus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.worlds.profiles.reading.synthetic_trace import SyntheticTrace
from workbench.analysis.collectives.links import Links, estimate_collective, find_links
from workbench.specs import Catalogue
from workbench.worlds.profiles.reading.work_tables import Collective, read_collective

SAID = {
    "Collective name": "allreduce",
    "dtype": "BFloat16",
    "In msg nelems": 1_000_000,
    "Out msg nelems": 1_000_000,
    "Group size": 8,
    "Process Group Description": "default_pg",
}


def test_a_collective_is_exposed_where_nothing_else_runs(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.launch("gemm", 0.0, 10.0, 100.0)
    more: dict[str, Any] = {"stream": 20, **SAID}
    trace.launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 5.0, 60.0, 100.0, **more)
    p = wb.read_profile(trace.write(tmp_path / "trace.json"))
    (row,) = p.tables["collectives"]
    assert (row.name, row.calls, row.time_us, row.exposed_us) == ("allreduce", 1, 100.0, 50.0)
    assert (row.bytes, row.dtype, row.group, row.group_size) == (
        2_000_000,
        "BFloat16",
        "default_pg",
        8,
    )
    assert row.bus_gbs == pytest.approx(2_000_000 * 2 * 7 / 8 / 100 / 1e3)
    assert row.kernel == next(k.id for k in p.tables["kernels"] if "nccl" in k.name)
    streams = {row.stream: row for row in p.tables["streams"]}
    assert (streams[20].alone_us, streams[7].alone_us, p.busy_us) == (50.0, 50.0, 150.0)


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("allreduce", 1.75),
        ("_allgather_base", 0.875),
        ("reduce_scatter", 0.875),
        ("all_to_all", 0.875),
        ("broadcast", 1.0),
    ],
)
def test_the_links_carry_more_or_less_than_the_bytes(name: str, factor: float) -> None:
    assert Collective(name, 8, "Float", "", 8).find_bus_factor() == factor
    assert Collective(name, 8, "Float", "", None).find_bus_factor() is None


@pytest.mark.parametrize(
    ("ranks", "size", "nodes"),
    [
        ([*range(8)], 8, 1),
        ([0, 8], 2, 2),
        ("[0, 1, 2, 3, 4, 5, 6, 7]", 8, 1),
        ("[0, 1, 2, ..., 62, 63]", 64, None),
        (None, 8, None),
    ],
)
def test_a_modelled_call_is_beside_the_measured_one(
    tmp_path: Path, ranks: object, size: int, nodes: int | None
) -> None:
    trace = SyntheticTrace()
    said: dict[str, Any] = {**SAID, "Group size": size, "Process Group Ranks": ranks}
    trace.launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 5.0, 60.0, 100.0, **said)
    (row,) = wb.read_profile(trace.write(tmp_path / "trace.json"), gpu="h100").tables["collectives"]
    if nodes is None:
        assert row.model_us is None
        return
    links = find_links(Catalogue.built_in()["h100"], {})
    assert isinstance(links, Links)
    modelled = estimate_collective("all_reduce", 2_000_000, size, nodes, links)
    assert modelled is not None
    assert row.model_us == modelled.us > 0


def test_an_annotation_tells_what_arguments_do_not() -> None:
    said = {"Input Dims": [[256, 4]], "Input type": ["c10::BFloat16"]}
    found = read_collective(said, "nccl:all_reduce", "ncclKernel")
    assert (found.name, found.bytes) == ("allreduce", 2048)


def test_values_of_other_types_tell_nothing() -> None:
    said = {"Collective name": 7, "In msg nelems": "many", "Group size": -1, "dtype": []}
    found = read_collective(said, "", "ncclKernel_Generic")
    assert (found.name, found.bytes, found.group_size) == ("collective", None, None)
