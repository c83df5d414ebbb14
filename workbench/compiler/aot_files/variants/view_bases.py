"""Guards on the size of what an input is a view of, left out where nothing compiled reads it.

Of a view with a size that may change torch guards the size of its base too, though not with fixed
sizes: a tensor that is no view then fits the variant of one size and not that of any size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import CodeType
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.errors import ArtifactError

_OF_BASE = re.compile(r"(\S+?\._base)\.(?:(?:size|stride)\(\)\[\d+\]|storage_offset\(\))")
_OF_INPUT = re.compile(r"\b[LG]\[")
_WHY = "it is the size of the tensor that this one was a view of, which no compiled code reads"


class ViewBases:
    """Leaves those guards out of what torch writes, and lists them."""

    def __init__(self) -> None:
        self._dropped: dict[str, None] = {}

    @property
    def rows(self) -> list[Mapping[str, str]]:
        """What was left out, as a manifest lists guards."""
        return [{"kind": "SHAPE_ENV", "name": name, "why": _WHY} for name in self._dropped]

    def require_unread(self, name: str, codes: Sequence[CodeType]) -> None:
        """Raise `ArtifactError` where compiled code takes a size from the base after all."""
        if self._dropped and any("_base" in code.co_names for code in codes):
            raise ArtifactError(
                f"{name} cannot be saved with its variants: its compiled code reads the size of "
                "what an input is a view of. Record it with copies of inputs, such as x.clone()."
            )

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """Hold for what this thread compiles."""
        with Patches() as patches:
            patches.wrap(tp.SERIALIZE_GUARDS, self._serializer)
            yield

    def _serializer(self, inner: Callable[..., bytes]) -> Callable[..., bytes]:
        def serialize(manager: Any, *args: Any) -> bytes:
            before = manager.shape_code_parts
            if before is not None and before.cpp_code_parts is None:
                manager.shape_code_parts = self._without_bases(before)
            try:
                return inner(manager, *args)
            finally:
                manager.shape_code_parts = before

        return serialize

    def _without_bases(self, parts: Any) -> Any:
        written, told = parts.python_code_parts, parts.verbose_code_parts
        needless = find_needless_parts(written.exprs)
        self._dropped.update(dict.fromkeys(written.exprs[at] for at in needless))
        kept = [at for at in range(len(written.exprs)) if at not in needless]
        return replace(
            parts,
            python_code_parts=replace(written, exprs=[written.exprs[at] for at in kept]),
            verbose_code_parts=replace(told, exprs=[told.exprs[at] for at in kept]),
        )


def find_needless_parts(parts: Sequence[str]) -> set[int]:
    """The places of those that say something of bases alone that no other part speaks of."""
    bases = [frozenset(_OF_BASE.findall(part)) for part in parts]
    rests = [_OF_BASE.sub("", part) for part in parts]
    alone = [
        bool(own) and not _OF_INPUT.search(rest) for own, rest in zip(bases, rests, strict=True)
    ]
    tied = frozenset[str]().union(
        *(own for own, is_alone in zip(bases, alone, strict=True) if not is_alone)
    )
    return {at for at, is_alone in enumerate(alone) if is_alone and not bases[at] & tied}
