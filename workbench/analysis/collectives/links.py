"""The time of one collective by the model that NCCL chooses its algorithms with.

    time = latency + bytes / bandwidth, of the fastest algorithm and protocol

Latencies, the shares of a link that protocols reach and their limits are those of NCCL's
`src/graph/tuning.cc`, as torch has them (`torch._inductor.comm_analysis`, 2.13). Two things are
taken as they are, where torch guesses: the nodes of a group are counted from its ranks, and as many
network cards carry its data as it has GPUs on a node.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workbench.report.collectives.collective_rows import ERRORS as ERRORS
from workbench.report.collectives.collective_rows import LEAST_CHECKED as LEAST_CHECKED
from workbench.report.collectives.collective_rows import LEAST_CHECKED_BYTES as LEAST_CHECKED_BYTES
from workbench.report.collectives.collective_rows import MOST_CHECKED_NODES as MOST_CHECKED_NODES
from workbench.specs import Gpu

Algorithm = Literal["ring", "tree", "NVLS", "NVLSTree", "direct"]
Protocol = Literal["LL", "LL128", "simple"]

_LINK_SHARES: Mapping[int, float] = {7: 120 / 150, 8: 230 / 300, 9: 360 / 450, 10: 675 / 900}
"""What NCCL reaches of NVLink's line rate, by the major architecture: V100 120 of 150 GB/s (what
torch takes of NCCL), A100 230 of 300 (NVIDIA/nccl-tests#149), H100 350 to 370 of 450 (#212,
NVIDIA/nccl#1281), B200 664 to 689 of 900 (8 GB in the logs that the tests have)."""
NIC_SHARE = 0.9
"""And of a network card of 50 GB/s: 41 where it is RoCE, 46 to 48 where InfiniBand (#267, #290)."""
_SWITCH_SHARE = 0.74
"""And of that share of NVLink an all-reduce that NVSwitch adds up: bytes at 273 GB/s on 8 GPUs of a
node of H100s, at 258 on 5 (NVIDIA/nccl#1455)."""
_TWO_SWITCHES = 0.93  # of which two nodes reach, by the two points that are known
_LEAST_SWITCHED = 5  # GPUs: with fewer, the ring is as fast (NVIDIA/nccl#1455)
_SWITCH_LATENCY = (60.0, 200.0)  # µs on one node, on two: what medium sizes of published logs take
_SWITCH_SINCE = 9  # the major architecture whose switches add up
_START = (6.0, 14.0)  # µs more than NCCL reckons with, in a node and between: small sizes in logs

_BASE: Mapping[tuple[Algorithm, Protocol], float] = {
    ("tree", "LL"): 6.8,
    ("tree", "LL128"): 14.0,
    ("tree", "simple"): 8.4,
    ("ring", "LL"): 6.6,
    ("ring", "LL128"): 14.0,
    ("ring", "simple"): 8.4,
}
"""µs that each takes whatever the ranks are."""
_STEP: Mapping[tuple[Algorithm, Protocol], tuple[float, float]] = {
    ("tree", "LL"): (0.6, 5.0),
    ("tree", "LL128"): (1.25, 8.5),
    ("tree", "simple"): (4.0, 14.0),
    ("ring", "LL"): (0.6, 2.7),
    ("ring", "LL128"): (1.9, 4.0),
    ("ring", "simple"): (3.4, 14.0),
}
"""µs of a step over NVLink, and of one over the network."""
_NETWORK_OVERHEAD = 1.0  # µs at least of any step where the network is used; three of "simple"
_MOST_LL: Mapping[int, tuple[float, float, float]] = {
    7: (39.0, 39.0, 20.4),
    8: (87.7, 22.5, 19.0),
    9: (141.0, 45.0, 35.0),
    10: (282.0, 90.0, 70.0),
}
"""GB/s that "LL" reaches at most on one, two and more nodes, by the major architecture."""
_TREE_SHARES: Mapping[Protocol, tuple[float, ...]] = {
    "LL": (
        1,
        1,
        1,
        1,
        0.9,
        0.8,
        0.7,
        0.7,
        0.7,
        0.7,
        0.6,
        0.5,
        0.4,
        0.4,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
        1,
        1,
        1,
        1,
        1,
    ),
    "LL128": (
        1,
        1,
        1,
        1,
        1,
        0.9,
        0.8,
        0.8,
        0.8,
        0.7,
        0.6,
        0.6,
        0.6,
        0.6,
        0.6,
        0.6,
        0.8,
        0.9,
        0.9,
        0.9,
        0.9,
        1,
        1,
        1,
    ),
    "simple": (
        0.9,
        0.9,
        0.9,
        0.9,
        0.9,
        0.9,
        0.9,
        0.8,
        0.7,
        0.6,
        0.6,
        0.5,
        0.5,
        0.5,
        0.5,
        0.6,
        0.7,
        0.8,
        0.7,
        0.7,
        0.8,
        0.9,
        0.9,
        0.9,
    ),
}
"""What a tree reaches of its rate by the size, from 64 bytes on, each twice the one before."""
_MODELLED = "NCCL"
_KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")


@dataclass(frozen=True)
class Links:
    """What one GPU reaches, in 10^9 bytes per second one way; `major` is its architecture's.

    `nvlink_gbs` is to the other GPUs of its node, `nic_gbs` to other nodes by its network card.
    """

    nvlink_gbs: float
    nic_gbs: float
    major: int


@dataclass(frozen=True)
class LinkTime:
    """What one collective takes by the model, in µs, and by which algorithm and protocol."""

    us: float
    algorithm: Algorithm
    protocol: Protocol

    @property
    def words(self) -> str:
        """Both, as NCCL calls them."""
        has_choice = self.algorithm in ("ring", "tree")
        return f"{self.algorithm}/{self.protocol}" if has_choice else self.algorithm


def find_links(gpu: Gpu, cluster: Mapping[str, Any]) -> Links | str:
    """The links of a cluster of these GPUs, as a record tells of it; else why they are not known.

    A rate that was given is taken as one that is reached, one of the catalogue as the line's.
    """
    if (library := gpu.kind.communication) != _MODELLED:
        return f"only {_MODELLED} is modelled, and {gpu.name} communicates with {library}"
    share = _LINK_SHARES[max(7, min(gpu.major, 10))]
    nvlink = cluster.get("nvlink_gb_s") or (gpu.link_gbs and gpu.link_gbs * share)
    nic = cluster.get("nic_gb_s") or (gpu.nic_gbs and gpu.nic_gbs * NIC_SHARE)
    missing = [name for name, rate in (("nvlink_gb_s", nvlink), ("nic_gb_s", nic)) if not rate]
    if missing:
        return (
            f"the link rates of {gpu.name} are not known: pass {' and '.join(missing)} to "
            "wb.virtual_cluster, in GB/s per GPU"
        )
    return Links(float(nvlink or 0), float(nic or 0), gpu.major)


def estimate_collective(
    op: str, sent_bytes: int, ranks: int, nodes: int, links: Links
) -> LinkTime | None:
    """The time of a collective of a group by the fastest way; None for one that has no model.

    `sent_bytes` are what an all-gather gives, and what any other takes. Not in it: what other
    groups do on the same links at the time, InfiniBand switches that add up, and what NCCL takes
    of the multiprocessors from the kernels beside it.
    """
    if op not in _KINDS:
        return None
    if ranks < 2:
        return LinkTime(0.0, "ring", "LL")
    if op == "all_to_all":
        return _time_direct(sent_bytes, ranks, nodes, links)
    protocols = [p for p in _TREE_SHARES if nodes == 1 or p != "LL128"]
    ways = [_time_ring(op, sent_bytes, ranks, nodes, links, p) for p in protocols]
    if op == "all_reduce":
        ways += [_time_tree(sent_bytes, ranks, nodes, links, p) for p in protocols]
        on_a_node = math.ceil(ranks / nodes)
        if nodes <= 2 and on_a_node >= _LEAST_SWITCHED and links.major >= _SWITCH_SINCE:
            ways.append(_time_switched(sent_bytes, on_a_node, nodes, links))
    return min(ways, key=lambda way: way.us)


def _time_direct(sent_bytes: int, ranks: int, nodes: int, links: Links) -> LinkTime:
    """Each rank sends to each: what goes to other nodes by its own card (NVIDIA/nccl-tests#130)."""
    on_a_node = math.ceil(ranks / nodes)
    inside = sent_bytes * (on_a_node - 1) / ranks / links.nvlink_gbs / 1e3
    outside = sent_bytes * (ranks - on_a_node) / ranks / links.nic_gbs / 1e3
    return LinkTime(_BASE["ring", "LL"] + _start(nodes) + max(inside, outside), "direct", "simple")


def _time_switched(sent_bytes: int, on_a_node: int, nodes: int, links: Links) -> LinkTime:
    rate = links.nvlink_gbs * _SWITCH_SHARE
    if nodes > 1:
        rate = min(rate * _TWO_SWITCHES, on_a_node * links.nic_gbs)
    us = _SWITCH_LATENCY[nodes - 1] + sent_bytes / rate / 1e3
    return LinkTime(us, "NVLS" if nodes == 1 else "NVLSTree", "simple")


def _find_rate(ranks: int, nodes: int, links: Links) -> float:
    """GB/s that pass a GPU: of NVLink, or of as many network cards as the group has on a node."""
    if nodes == 1:
        return links.nvlink_gbs
    on_a_node = math.ceil(ranks / nodes)
    rate = on_a_node * links.nic_gbs
    return rate if on_a_node == 1 else min(rate, links.nvlink_gbs)


def _find_most_ll(nodes: int, links: Links) -> float:
    by_nodes = _MOST_LL.get(min(links.major, max(_MOST_LL)), _MOST_LL[min(_MOST_LL)])
    return by_nodes[min(nodes, 3) - 1]


def _start(nodes: int) -> float:
    return _START[min(nodes, 2) - 1]


def _time_step(algorithm: Algorithm, protocol: Protocol, nodes: int) -> tuple[float, float]:
    """µs of a step in a node, and between nodes."""
    inside, between = _STEP[algorithm, protocol]
    least = 0.0 if nodes == 1 else _NETWORK_OVERHEAD * (3 if protocol == "simple" else 1)
    return max(inside, least), between


def _time_ring(
    op: str, sent_bytes: int, ranks: int, nodes: int, links: Links, protocol: Protocol
) -> LinkTime:
    rounds = 2 if op == "all_reduce" else 1
    steps, between = rounds * (ranks - 1), rounds * (nodes - 1)
    rate = _find_rate(ranks, nodes, links)
    rate = {
        "LL": min(_find_most_ll(nodes, links), rate * 0.5),
        "LL128": rate * 120 / 128,
        "simple": rate,
    }[protocol]
    inside_us, between_us = _time_step("ring", protocol, nodes)
    passed = sent_bytes if op == "broadcast" else sent_bytes * steps / ranks
    latency = (
        _BASE["ring", protocol]
        + _start(nodes)
        + (steps - between) * inside_us
        + between * between_us
    )
    return LinkTime(latency + passed / rate / 1e3, "ring", protocol)


def _time_tree(
    sent_bytes: int, ranks: int, nodes: int, links: Links, protocol: Protocol
) -> LinkTime:
    rate = _find_rate(ranks, nodes, links)
    rate = {
        "LL": min(_find_most_ll(nodes, links), rate / 3.8),
        "LL128": rate * (7 / 9 if nodes == 1 else 120 / 128),
        "simple": rate * 0.92,
    }[protocol]
    shares = _TREE_SHARES[protocol]
    size = max(sent_bytes // 64, 1).bit_length() - 1
    rate *= 0.5 * (shares[size] if size < len(shares) else 1.0)
    inside_us, between_us = _time_step("tree", protocol, nodes)
    depth = math.ceil(ranks / nodes) - 1, int(math.log2(nodes))
    latency = (
        _BASE["tree", protocol] + _start(nodes) + 2 * (depth[0] * inside_us + depth[1] * between_us)
    )
    return LinkTime(latency + sent_bytes / rate / 1e3, "tree", protocol)
