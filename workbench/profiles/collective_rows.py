"""Collectives of NCCL, RCCL and others: their time, how much is exposed, their bytes."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.analysis.cluster.links import Links, estimate_collective, find_links
from workbench.analysis.library_kernels.kernel_names import is_collective, name_collective
from workbench.profiles.device_times import Busy
from workbench.profiles.device_work import DeviceWork
from workbench.profiles.kernel_rows import KernelRows
from workbench.report.profile.profile_rows import CollectiveTime
from workbench.specs import Gpu

_ITEMSIZES = {
    "double": 8, "long": 8, "float": 4, "int": 4, "half": 2, "bfloat16": 2, "short": 2,
    "char": 1, "byte": 1, "bool": 1, "c10::bfloat16": 2, "c10::half": 2,
}  # fmt: skip
_MODELLED = {
    "allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all", "broadcast": "broadcast",
}  # fmt: skip
_GPUS_PER_NODE = 8


@dataclass(frozen=True)
class Collective:
    """What one call moves: bytes of one rank and the group that takes part.

    `nodes` is on how many of 8 GPUs its ranks are, None where the trace does not name all of them.
    """

    name: str
    bytes: int | None
    dtype: str
    group: str
    group_size: int | None
    nodes: int | None = None

    def estimate_us(self, links: Links | None) -> float | None:
        """What one call takes by NCCL's own model; None where that does not know all of it."""
        name = re.sub(r"[^a-z]", "", self.name.lower())
        op = next((op for word, op in _MODELLED.items() if word in name), "")
        if links is None or not self.bytes or not self.group_size or self.nodes is None:
            return None
        made = estimate_collective(op, self.bytes, self.group_size, self.nodes, links)
        return None if made is None else made.us

    def find_bus_factor(self) -> float | None:
        """How many bytes the links carry for each of `bytes`, as nccl-tests count it."""
        ranks = self.group_size or 0
        if ranks < 2:
            return None
        part = (ranks - 1) / ranks
        name = re.sub(r"[^a-z]", "", self.name.lower())
        if "allreduce" in name:
            return 2 * part
        return part if any(each in name for each in ("gather", "scatter", "alltoall")) else 1.0


def list_collectives(
    work: DeviceWork, kernels: KernelRows, gpu: Gpu | None
) -> list[CollectiveTime]:
    """A row for each collective by its bytes and group."""
    events, texts = work.events, work.trace.texts
    is_one = np.array([is_collective(text) for text in texts], bool)
    own = np.flatnonzero(np.append(is_one, False)[events["name"]])
    if not len(own):
        return []
    others = np.setdiff1d(np.arange(len(events)), own)
    covered = Busy.of(events["start"][others], events.end[others])
    start, end = events["start"][own], events.end[own]
    exposed = (end - start) - covered.within(start, end)
    groups: defaultdict[tuple[Collective, int], list[int]] = defaultdict(list)
    said_by_operator, operators = work.of_operator("detail"), work.of_operator("name")
    for place, run in enumerate(own.tolist()):
        operator = texts[operators[run]] if operators[run] >= 0 else ""
        said = [
            work.trace.details[number] if number >= 0 else {}
            for number in (int(events["detail"][run]), int(said_by_operator[run]))
        ]
        kernel = texts[events["name"][run]]
        collective = read_collective({**said[1], **said[0]}, operator, kernel)
        groups[collective, int(kernels.row_of_run[run])].append(place)
    links = None if gpu is None else find_links(gpu, {})
    rows = []
    for (collective, row), places in groups.items():
        times = events["duration"][own[places]]
        fastest, factor = float(times.min()), collective.find_bus_factor()
        is_known = factor is not None and collective.bytes and fastest > 0
        rows.append(
            CollectiveTime(
                name=collective.name,
                calls=len(places),
                time_us=float(times.sum()),
                exposed_us=float(exposed[places].sum()),
                bytes=collective.bytes,
                dtype=collective.dtype,
                group=collective.group,
                group_size=collective.group_size,
                bus_gbs=collective.bytes * factor / fastest / 1e3 if is_known else None,  # type: ignore[operator]
                model_us=collective.estimate_us(None if isinstance(links, str) else links),
                kernel=f"k{row}",
            )
        )
    return sorted(rows, key=lambda row: -row.time_us)


def read_collective(said: Mapping[str, Any], operator: str, kernel: str) -> Collective:
    """What arguments say of a collective, else the names of its annotation and kernel."""
    name = said.get("Collective name")
    if not isinstance(name, str) or not name:
        own = operator.startswith(("nccl:", "c10d", "_c10d", "symm_mem"))
        told = (name_collective(each) for each in ([operator] if own else []) + [kernel])
        name = next((each for each in told if each != "collective"), "collective")
    dtype = said.get("dtype")
    if not isinstance(dtype, str):
        types = said.get("Input type")
        dtype = types[0] if isinstance(types, list) and types and isinstance(types[0], str) else ""
    counts = [said.get(f"{side} msg nelems") for side in ("In", "Out")]
    known = [count for count in counts if isinstance(count, int) and not isinstance(count, bool)]
    dims = said.get("Input Dims")
    if not known and isinstance(dims, list) and dims and isinstance(dims[0], list):
        first = dims[0]
        if first and all(type(size) is int for size in first):
            known = [math.prod(first)]
    item = _ITEMSIZES.get(dtype.lower(), 1 if "float8" in dtype.lower() else None)
    size = said.get("Group size")
    group = said.get("Process Group Description") or said.get("Process Group Name") or ""
    return Collective(
        name=name[:200],
        bytes=max(known) * item if known and item and 0 <= max(known) < 1 << 50 else None,
        dtype=dtype[:200],
        group=str(group)[:200],
        group_size=size if isinstance(size, int) and 0 < size < 1 << 24 else None,
        nodes=_count_nodes(said.get("Process Group Ranks"), size),
    )


def _count_nodes(told: object, size: object) -> int | None:
    """On how many nodes the ranks of a group are; torch ends a long list of them with `...`."""
    ranks = re.findall(r"\d+", str(told)) if isinstance(told, str | list) else []
    if not ranks or len(ranks) != size:
        return None
    return len({int(rank) // _GPUS_PER_NODE for rank in ranks})
