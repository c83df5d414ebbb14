"""How far the models of configurations were off where real GPUs are known, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from math import floor
from typing import Any

from workbench.plain_data import parse_toml

FILE = "tuning_errors.toml"
"""Where the figures stand, in the data of `workbench.specs`; a part of `tests.bench` writes it."""
PLAIN, EXPERTS = "product", "product of experts"
NO_MODEL = (
    "Compiled, neither measured nor modelled: ordered by spills, occupancy and registers, which "
    "was never compared with a real GPU."
)
"""What is said where no configuration has a time of a model."""


@cache
def load_errors() -> Mapping[str, Any]:
    """Shares of published winners by kernel and GPU, and what timing on one GPU showed."""
    content = resources.files("workbench.specs").joinpath("data", FILE).read_bytes()
    return parse_toml(content)


def describe_error(kind: str, gpus: Sequence[str], published: Collection[str] = ()) -> str:
    """That configurations of this kind are modelled, and how far the model was off before.

    On the `published` of the GPUs published winners had a part in the order.
    """
    start = "Modelled, not measured."
    if not kind.startswith("product"):
        return f"{start} {describe_generated()}"
    return " ".join([start, *_describe_products(kind, gpus, published)])


def describe_generated() -> str:
    """How far the first by the model was from the fastest, for kernels that Inductor generates."""
    timed = load_errors()["generated"]
    first, five = (" to ".join(f"{each:.2f}" for each in timed[name]) for name in ("first", "five"))
    return (
        f"Timed on an {timed['gpu']} for {name_count(timed['kernels'])} kernels of Inductor, the "
        f"first by this model took {first} times the fastest, the best of its first five {five} "
        "times; nothing was compared for kernels written by hand."
    )


def name_count(count: int) -> str:
    """A small number as a word."""
    return {2: "two", 3: "three", 4: "four", 5: "five"}.get(count, str(count))


def _describe_products(kind: str, gpus: Sequence[str], published: Collection[str]) -> Iterator[str]:
    errors = load_errors()
    of = "moe" if kind == EXPERTS else "gemm"
    words = "products of experts" if of == "moe" else "products with scales"
    unknown = [gpu for gpu in gpus if gpu not in errors[of]]
    for gpu in gpus:
        if gpu not in unknown:
            row, order = errors[of][gpu], ""
            if gpu in published:
                row = {**row, **row["published"]}
                order = " with what won for other sizes"
            five, fifth = (f"{floor(row[name] * 100 + 1e-6)} %" for name in ("five", "fifth"))
            yield (
                f"Of {row['problems']} published winners of {words} on {gpu} {five} were among "
                f"its first five, {fifth} in its first fifth{order}."
            )
    if kind == PLAIN:
        yield "Products without scales, as this one, were not compared."
    timed = errors["timed"]
    yield (
        f"Timed on {timed['gpu']} for {timed['problems']} {words if of == 'gemm' else 'products'}, "
        f"its first took {timed['first']:.2f} times the fastest in the middle, the best of its "
        f"first five at most {timed['within']:.2f} times in {timed['near']}."
    )
    if unknown:
        yield f"On {', '.join(unknown)} it was never compared with a real GPU."
