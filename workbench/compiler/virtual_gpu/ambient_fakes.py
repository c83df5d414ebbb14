"""The mode of fake tensors in which a compilation for a virtual GPU runs as a whole."""

from __future__ import annotations

from typing import Any

from workbench.compiler.internals import torch_private as tp


def enter_ambient_fake_mode() -> Any:
    """A mode for example inputs and weights that lets Dynamo handle its own fake tensors.

    Dynamo has a mode of its own, and leaves it where it reads numbers out of a tensor
    (`tolist`). Torch refuses to mix the two, so an operation on Dynamo's tensors runs in theirs.
    """
    base, fake = tp.FAKE_TENSOR_MODE.get(), tp.FAKE_TENSOR.get()
    leaves = tp.TREE_LEAVES.get()

    class AmbientFakeMode(base):  # type: ignore[valid-type,misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            for leaf in leaves((args, kwargs)):
                if isinstance(leaf, fake) and leaf.fake_mode is not self:
                    with leaf.fake_mode:
                        return func(*args, **(kwargs or {}))
            return super().__torch_dispatch__(func, types, args, kwargs)

    return AmbientFakeMode(shape_env=tp.SHAPE_ENV.get()())
