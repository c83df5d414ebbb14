"""How requests of any size use models of a few fixed sizes: which dimensions, padded with what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import torch

from workbench.errors import ArtifactError
from workbench.typed_data import read_row

REPEAT = "repeat"
Pad = float | int | bool | str


@dataclass(frozen=True)
class BucketedDim:
    """Dimension `index` of a leaf has the size `scale * value of name + offset`.

    `leaf` counts the leaves of the inputs, or of the outputs.
    """

    leaf: int
    index: int
    name: str
    scale: int = 1
    offset: int = 0

    def size(self, values: Mapping[str, int]) -> int:
        """The size for these values of the named dimensions."""
        return self.scale * values[self.name] + self.offset


@dataclass(frozen=True)
class Bucketing:
    """The compiled sizes of each named dimension, and where these dimensions are.

    `pad` is what fills each padded leaf of the inputs: a number, or "repeat" for its last entry.
    `split` names the dimension along which a larger request is cut into several.
    """

    sizes: Mapping[str, tuple[int, ...]]
    inputs: tuple[BucketedDim, ...]
    outputs: tuple[BucketedDim, ...]
    pad: Mapping[int, Pad]
    split: str | None = None

    def buckets(self) -> list[dict[str, int]]:
        """Every combination of sizes, the smallest first."""
        names = list(self.sizes)
        return [dict(zip(names, sizes, strict=True)) for sizes in product(*self.sizes.values())]

    def fitting(self, values: Mapping[str, int]) -> dict[str, int] | None:
        """The smallest bucket that holds a request, or None."""
        smallest = {
            name: next((size for size in sizes if size >= values[name]), None)
            for name, sizes in self.sizes.items()
        }
        fits = {name: size for name, size in smallest.items() if size is not None}
        return fits if len(fits) == len(smallest) else None

    def padded(
        self, leaves: Sequence[Any], values: Mapping[str, int], bucket: Mapping[str, int]
    ) -> list[Any]:
        """The leaves at the bucket's sizes, in the layout that they have."""
        grown_leaves = list(leaves)
        for leaf in dict.fromkeys(dim.leaf for dim in self.inputs):
            dims = [d for d in self.inputs if d.leaf == leaf and values[d.name] != bucket[d.name]]
            if dims:
                sizes = {dim.index: dim.size(bucket) for dim in dims}
                grown_leaves[leaf] = grown(grown_leaves[leaf], sizes, self.pad.get(leaf, 0))
        return grown_leaves

    def cut(
        self, outputs: Sequence[Any], values: Mapping[str, int], bucket: Mapping[str, int]
    ) -> list[Any]:
        """The outputs without what padding added: views of the larger results."""
        results = list(outputs)
        for dim in self.outputs:
            if values[dim.name] != bucket[dim.name]:
                results[dim.leaf] = results[dim.leaf].narrow(dim.index, 0, dim.size(values))
        return results

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data for the manifest."""
        return {**asdict(self), "pad": {str(leaf): value for leaf, value in self.pad.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Bucketing:
        """Read what `to_json` wrote; raises `ArtifactError` for anything else."""
        try:
            bucketing = read_row(cls, data)
            for dim in (*bucketing.inputs, *bucketing.outputs):
                if dim.name not in bucketing.sizes or min(dim.leaf, dim.index, dim.scale - 1) < 0:
                    raise ValueError(f"dimension {dim.name!r}")
            if not bucketing.sizes or not all(bucketing.sizes.values()):
                raise ValueError("a dimension has no sizes")
            if bucketing.split not in (None, *bucketing.sizes):
                raise ValueError(f"split names {bucketing.split!r:.80}")
        except ValueError as error:
            raise ArtifactError(
                f"The sizes in the manifest are damaged ({error}). Get the file again."
            ) from error
        return bucketing


def grown(tensor: torch.Tensor, sizes: Mapping[int, int], pad: Pad) -> torch.Tensor:
    """A tensor with larger sizes at some dimensions, the rest filled, its order in memory kept."""
    for index, size in sizes.items():
        old = tensor.shape[index]
        shape = list(tensor.shape)
        shape[index] = size
        places = zip(tensor.stride(), tensor.shape, range(tensor.dim()), strict=True)
        order = [i for _, _, i in sorted(places, key=lambda p: (-p[0], -p[1], p[2]))]
        larger = tensor.new_empty([shape[i] for i in order])
        larger = larger.permute([order.index(i) for i in range(tensor.dim())])
        larger.narrow(index, 0, old).copy_(tensor)
        rest = larger.narrow(index, old, size - old)
        if pad == REPEAT:
            rest.copy_(tensor.narrow(index, old - 1, 1).expand_as(rest))
        else:
            rest.fill_(pad)  # type: ignore[arg-type]  # a number
        tensor = larger
    return tensor
