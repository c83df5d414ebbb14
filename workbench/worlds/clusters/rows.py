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

    rank: int  # the rank, from 0
    coordinates: str  # its coordinates on the mesh, such as `dp=0, tp=7`
    program: int | None  # which of the different programs it runs, from 0
    parameter_bytes: int | None = number(
        "Parameters",
        "B",
        "This rank's parameter shards",
        meaning="Bytes of the rank's parameter shards.",
    )
    gradient_bytes: int | None = number(
        "Gradients",
        "B",
        "Gradients of the rank's shards; 0 without a backward pass",
        meaning="Gradient bytes of the rank's shards; 0 without a backward pass.",
    )
    peak_bytes: int | None = number(
        "Peak",
        "B",
        "Peak live bytes, weights and inputs included",
        meaning="Peak live bytes, weights and inputs included.",
    )
    kernels: int | None = number("Kernels", meaning="Number of kernels and library calls.")
    collectives: int | None = number(
        "Collectives", meaning="Number of collectives that the rank takes part in."
    )
    message_bytes: int | None = number(
        "Messages",
        "B",
        "Bytes of the rank's collectives, as NCCL counts them",
        meaning="Bytes of the rank's collectives, as NCCL counts them.",
    )
    error: str = ""  # why it has no program


@dataclass(frozen=True, slots=True)
class ScalingRow:
    """One mesh: modelled time and memory of a step of its first rank; nothing was run.

    `program` distinguishes meshes that run different code. Unknown figures are None, and `why` has
    the reason. `error` is the relative error of `step_us`, None if a part was never compared with a
    measurement. Exposed time is a difference, with its own interval from the same errors.
    `peak_bytes` and `reserved_bytes` include the optimizer's state.
    """

    mesh: str  # its dimensions, such as `dp 64 × tp 8`
    gpus: int = number("GPUs", "number", meaning="Number of GPUs in the mesh.", default=0)
    nodes: int = number("Nodes", "number", meaning="Number of nodes that the GPUs span.", default=0)
    program: int | None = None  # which of the different programs it runs, from 0
    step_us: float | None = number(
        "Step",
        "us",
        "Forward and backward pass, until the last collective ends; modelled",
        source="model",
        meaning="Time of a step in µs, until its last kernel and collective end.",
    )
    exposed_us: float | None = number(
        "Exposed",
        "us",
        "Communication that kernels do not overlap; modelled",
        source="model",
        meaning="Modelled time in µs that kernels stall on collectives.",
    )
    exposed_least_us: float | None = number(
        "Exposed at least",
        "us",
        "Lower bound from the model's errors: slow kernels, fast links",
        source="model",
        meaning="Lower bound of `exposed_us`: kernels as slow and links as fast as their errors "
        "allow.",
    )
    exposed_most_us: float | None = number(
        "Exposed at most",
        "us",
        "Upper bound from the model's errors: fast kernels, slow links",
        source="model",
        meaning="Upper bound of `exposed_us`: kernels as fast and links as slow as their errors "
        "allow.",
    )
    kernels_us: float | None = number(
        "Kernels",
        "us",
        "Kernels without collectives; modelled",
        source="model",
        meaning="Modelled time of the kernels in µs, without collectives.",
    )
    error: float | None = number(
        "± of it",
        "share",
        "Step error: the largest error among its kernels and collectives",
        source="model",
        meaning="Relative error of a step: the largest error among its kinds of kernels and its "
        "collectives.",
    )
    parameter_bytes: int | None = number(
        "Parameters",
        "B",
        "This rank's parameter shards",
        meaning="Bytes of the rank's parameter shards.",
    )
    peak_bytes: int | None = number(
        "Peak",
        "B",
        "Peak live bytes, with the optimizer's state",
        meaning="Peak live bytes, with the optimizer's state.",
    )
    reserved_bytes: int | None = number(
        "Reserved",
        "B",
        "Bytes that torch's allocator reserves, with the optimizer's state; modelled",
        source="model",
        meaning="Bytes that torch's caching allocator reserves, with the optimizer's state; "
        "modelled for its default options and one stream.",
    )
    batch: int | None = number("Batch", meaning="First dimension of a rank's inputs.")
    largest_batch: int | None = number(
        "Largest batch",
        source="model",
        meaning="Largest batch per rank whose peak fits the GPU, extrapolated linearly from the "
        "given batch and twice that; not compiled.",
    )
    why: str = ""  # what is unknown, and why


@dataclass(frozen=True, slots=True)
class Shard:
    """One rank's part of a parameter, a buffer or an input, by its name in the model."""

    name: str  # its name in the model; `args[0]` for an input
    shape: tuple[int, ...]  # the shape of the rank's shard
    dtype: str  # its dtype
    bytes: int  # bytes of the rank's shard
    is_parameter: bool = False  # whether it is a parameter, not a buffer or an input
    needs_grad: bool = False  # whether the backward pass computes its gradient
