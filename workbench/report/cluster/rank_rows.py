"""Rows of several ranks of a cluster: what each compiled to, its shards, whether they agree."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.report.measures import number


@dataclass(frozen=True, slots=True)
class RankRow:
    """One rank: its program, what it holds, what it sends.

    Ranks with the same `program` run the same code. Bytes are those of the rank alone; the peak is
    that of *Memory*: weights, inputs and what lives at once.
    """

    rank: int  # which of the ranks, from 0
    coordinates: str  # its place on the mesh, such as `dp=0, tp=7`
    program: int | None  # which of the different programs it runs, from 0
    parameter_bytes: int | None = number(
        "Parameters", "B", "Of this rank's shards",
        meaning="Bytes of the shards of parameters that the rank holds.",
    )  # fmt: skip
    gradient_bytes: int | None = number(
        "Gradients", "B", "Of the shards that need one; 0 without a backward",
        meaning="Bytes of the gradients of its shards; 0 where no backward was compiled.",
    )  # fmt: skip
    peak_bytes: int | None = number(
        "Peak", "B", "The most that lives at once, weights and inputs included",
        meaning="The most bytes that live at once, weights and inputs included.",
    )  # fmt: skip
    kernels: int | None = number("Kernels", meaning="How many kernels and library calls it runs.")
    collectives: int | None = number(
        "Collectives", meaning="How many collectives it takes part in."
    )
    message_bytes: int | None = number(
        "Messages", "B", "All of its collectives, as NCCL counts them",
        meaning="Bytes of all of its collectives, as NCCL counts them.",
    )  # fmt: skip
    error: str = ""  # why there is no program


@dataclass(frozen=True, slots=True)
class Shard:
    """What one rank holds of a parameter, a buffer or an input, by its name in the model."""

    name: str  # its name in the model; `args[0]` for an input
    shape: tuple[int, ...]  # the shape of what the rank holds
    dtype: str  # its dtype
    bytes: int
    is_parameter: bool = False  # a parameter, and no buffer or input
    needs_grad: bool = False  # whether the backward makes a gradient of it


@dataclass(frozen=True, slots=True)
class CollectiveOrder:
    """The collectives of one group on two of its ranks, in the order in which they start.

    A group waits until all of its ranks have started the same collective. `place` is the first
    that differs, from 0, and `here` and `there` what either rank starts then; None where all are
    the same. What an all-to-all sends may differ between ranks, and is not compared.
    """

    group: str  # what the mesh calls the group
    group_size: int  # how many ranks are in the group
    rank: int  # which of the ranks, from 0
    other: int  # the rank that it is compared with
    collectives: int  # how many of them both start alike
    place: int | None = None
    here: str | None = None
    there: str | None = None
    note: str = ""  # what comes of it
