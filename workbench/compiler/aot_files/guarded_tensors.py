"""The tensors in the guards of a file, read faster than torch reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches


@contextmanager
def share_fake_mode(*, is_said: bool = True) -> Iterator[None]:
    """Read guards with one fake mode for all tensors.

    Torch 2.13 makes a mode for each tensor, and looks up the whole stack for each mode. It also
    puts guards into words with the lines of the program, unless nothing `is_said` of them. Both
    are a quarter of the time for a GPT-2 of six layers.
    """
    mode, kind = tp.FAKE_TENSOR_MODE.get()(), tp.FAKE_TENSOR.get()

    def read(_cls: type, meta: Any, device: Any, pytype: Any, keys: int, grad: Any) -> Any:
        known = type(tp.DISPATCH_KEYS.get()(meta)).from_raw_repr(keys)
        tensor = kind(mode, meta, device, pytype=pytype, dispatch_keys=known)
        tensor.grad = grad
        return tensor

    def without_lines(build: Callable[..., Any]) -> Callable[..., Any]:
        def built(manager: Any, guards: Any, *args: Any, **kwargs: Any) -> Any:
            for guard in guards:
                guard.user_stack = None
            return build(manager, guards, *args, **kwargs)

        return built

    with Patches() as patches:
        patches.wrap(tp.UNPICKLE_GUARDED_TENSOR, lambda _: read)
        if not is_said:
            patches.wrap(tp.BUILD_GUARDS, without_lines)
        yield
