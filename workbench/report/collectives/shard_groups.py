"""What `fully_shard` keeps of a model's parameters on a rank, gathers and scatters, by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from workbench.errors import ArtifactError
from workbench.typed_data import read_row

SHARDS = "shards"
"""Where `Report.extra` has the groups of a whole model that `fully_shard` took apart."""


@dataclass(frozen=True, slots=True)
class ShardedParameter:
    """A parameter of a group, of which this rank holds `elements`, padded as every rank's.

    `names` are its paths in the module. `kept_item`, `gathered_item` and `reduced_item` are bytes
    of an element of the shard, of what is gathered, and of what gradients are reduced in. Shards
    along another dimension than the first are copied once more.
    """

    names: tuple[str, ...]
    elements: int
    kept_item: int
    gathered_item: int
    reduced_item: int
    learns: bool
    is_cast: bool = False
    is_along_first: bool = True

    @property
    def shard_bytes(self) -> int:
        """Bytes that this rank holds all the time."""
        return self.elements * self.kept_item


@dataclass(frozen=True, slots=True)
class ShardGroup:
    """The parameters that one call of a hook gathers; `size` ranks hold shards of them.

    `after_forward` says what becomes of them: kept whole, freed, or kept by `part_size` ranks.
    """

    block: str
    parameters: tuple[ShardedParameter, ...]
    size: int
    after_forward: Literal["kept", "freed", "parted"] = "freed"
    part_size: int = 1
    is_replicated: bool = False  # gradients are summed over replicas too (HSDP, `replicate`)
    sums_replicas: bool = True
    reduces: bool = True
    gathers_in_backward: bool = True
    frees_after_backward: bool = True
    is_async: bool = False
    is_divided: bool = False  # gradients are divided by a factor of the user's
    forward_prefetch: tuple[str, ...] = ()
    backward_prefetch: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShardedModel:
    """The groups of a model, outer blocks first; `others` are parameters that are in none.

    `outermost` is the block around all others, which may have no group. At most `buffers` inputs
    of reduce-scatters live at once. In a forward the buffer of a gather is freed before the next
    is copied out if `frees_before_copies`, and after it otherwise. `why_unknown` says why its
    memory is not counted; empty where it is.
    """

    groups: tuple[ShardGroup, ...]
    outermost: str = ""
    others: tuple[str, ...] = ()
    buffers: int = 1
    why_unknown: str = ""
    frees_before_copies: bool = False

    def to_extra(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_extra(cls, data: Mapping[str, Any]) -> ShardedModel:
        """Read what `to_extra` wrote; raises `ArtifactError` for anything else."""
        try:
            return read_row(cls, data)
        except ValueError as error:
            raise ArtifactError(f"The report is damaged (its shards): {error}.") from error
