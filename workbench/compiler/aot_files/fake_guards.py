"""Guards that were made from fake tensors, written as those of the real ones.

Torch would write the whole fake mode with every tensor and the keys by which fakes are dispatched,
which no real tensor has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches

Reducer = Callable[[Any, Any], Any]


def guards_of_real_tensors(patches: Patches) -> None:
    """Have what is written of a fake tensor describe the real one, while the patches last."""
    patches.wrap(tp.GUARDS_REDUCER, _real_reducer)


def _real_reducer(inner: Reducer) -> Reducer:
    fake, rebuild = tp.FAKE_TENSOR.get(), tp.UNPICKLE_GUARDED_TENSOR.get()

    def reducer_override(pickler: Any, value: Any) -> Any:  # asked about every object in guards
        found = inner(pickler, value)
        if not isinstance(value, fake) or not isinstance(found, tuple) or found[0] != rebuild:
            return found
        _, device, pytype, _, grad = found[1]
        if isinstance(value, torch.nn.Parameter):
            pytype = torch.nn.Parameter
        return rebuild, (_meta(value), device, pytype, _keys(value).raw_repr(), grad)

    return reducer_override


def _meta(fake: torch.Tensor) -> torch.Tensor:
    """A plain tensor without data and without the mode of the fake."""
    with tp.UNSET_FAKE.get()():
        return torch.empty_strided(
            tuple(fake.shape),
            fake.stride(),
            dtype=fake.dtype,
            device="meta",
            requires_grad=fake.requires_grad,
        )


def _keys(fake: torch.Tensor) -> Any:
    keys = tp.DISPATCH_KEYS.get()(fake)
    for name in ("Python", "PythonTLSSnapshot"):
        keys = keys.remove(getattr(tp.DISPATCH_KEY.get(), name))
    return keys
