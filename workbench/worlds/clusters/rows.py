"""Rows of ranks of a cluster: what each runs and holds, what a step takes on a mesh."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.report.measures import number


@dataclass(frozen=True, slots=True)
class RankRow:
    """One rank: its program, its memory, its traffic.

    Ranks with the same `program` run the same code. Bytes are per rank. The peak is that of
    *Memory*: weights, inputs and live values.
    """

    rank: int  # which of the ranks, from 0
    coordinates: str  # its place on the mesh, such as `dp=0, tp=7`
    program: int | None  # which of the different programs it runs, from 0
    parameter_bytes: int | None = number(
        "Parameters",
        "B",
        "Of this rank's shards",
        meaning="Bytes of the shards of parameters that the rank holds.",
    )
    gradient_bytes: int | None = number(
        "Gradients",
        "B",
        "Of the shards that need one; 0 without a backward",
        meaning="Bytes of the gradients of its shards; 0 where no backward was compiled.",
    )
    peak_bytes: int | None = number(
        "Peak",
        "B",
        "The most that lives at once, weights and inputs included",
        meaning="The most bytes that live at once, weights and inputs included.",
    )
    kernels: int | None = number("Kernels", meaning="How many kernels and library calls it runs.")
    collectives: int | None = number(
        "Collectives", meaning="How many collectives it takes part in."
    )
    message_bytes: int | None = number(
        "Messages",
        "B",
        "All of its collectives, as NCCL counts them",
        meaning="Bytes of all of its collectives, as NCCL counts them.",
    )
    error: str = ""  # why there is no program


@dataclass(frozen=True, slots=True)
class ScalingRow:
    """One mesh: modelled time and memory of a step of its first rank; nothing was run.

    `program` distinguishes meshes that run different code. Unknown figures are None, and `why` has
    the reason. `error` is the relative error of `step_us`, None if a part was never compared with a
    measurement. Exposed time is a difference, with its own interval from the same errors.
    `peak_bytes` and `reserved_bytes` include the optimizer's state.
    """

    mesh: str  # its dimensions, such as `dp 64 × tp 8`
    gpus: int = number("GPUs", "number", meaning="How many GPUs the mesh has.", default=0)
    nodes: int = number("Nodes", "number", meaning="On how many nodes they are.", default=0)
    program: int | None = None  # which of the different programs it runs, from 0
    step_us: float | None = number(
        "Step",
        "us",
        "Forward and backward, until the last collective ends; modelled",
        source="model",
        meaning="µs of a step, until its last kernel and collective end.",
    )
    exposed_us: float | None = number(
        "Exposed",
        "us",
        "The kernels wait for collectives; modelled",
        source="model",
        meaning="µs that the kernels wait for collectives, by the model.",
    )
    exposed_least_us: float | None = number(
        "Exposed at least",
        "us",
        "With kernels slow and links fast, by their errors",
        source="model",
        meaning="µs that are waited for where kernels are as slow and links as fast as their "
        "errors allow.",
    )
    exposed_most_us: float | None = number(
        "Exposed at most",
        "us",
        "With kernels fast and links slow, by their errors",
        source="model",
        meaning="µs that are waited for where kernels are as fast and links as slow as their "
        "errors allow.",
    )
    kernels_us: float | None = number(
        "Kernels",
        "us",
        "By themselves; modelled",
        source="model",
        meaning="µs of the kernels by themselves, by the model.",
    )
    error: float | None = number(
        "± of it",
        "share",
        "Of the step: the largest of its kernels and its collectives",
        source="model",
        meaning="The relative error of a step: the largest of those of its kinds of kernels and of "
        "its collectives.",
    )
    parameter_bytes: int | None = number(
        "Parameters",
        "B",
        "Of this rank's shards",
        meaning="Bytes of the shards of parameters that the rank holds.",
    )
    peak_bytes: int | None = number(
        "Peak",
        "B",
        "The most that lives at once, with the optimizer's state",
        meaning="The most bytes that live at once, with the optimizer's state.",
    )
    reserved_bytes: int | None = number(
        "Reserved",
        "B",
        "By a model of torch's allocator, with the optimizer's state",
        source="model",
        meaning="Bytes that torch's caching allocator reserves, by a model of it with its default "
        "options on one stream, with the optimizer's state.",
    )
    batch: int | None = number("Batch", meaning="The first size of the inputs of a rank.")
    largest_batch: int | None = number(
        "Largest batch",
        source="model",
        meaning="The largest batch of a rank whose peak is within its GPU's memory, on the line "
        "through the batch given and twice that; it was not compiled.",
    )
    why: str = ""  # what is not known, and why


@dataclass(frozen=True, slots=True)
class Shard:
    """One rank's part of a parameter, a buffer or an input, by its name in the model."""

    name: str  # its name in the model; `args[0]` for an input
    shape: tuple[int, ...]  # the shape of what the rank holds
    dtype: str  # its dtype
    bytes: int  # what the rank holds of it
    is_parameter: bool = False  # a parameter, and no buffer or input
    needs_grad: bool = False  # whether the backward makes a gradient of it
