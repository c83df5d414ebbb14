"""The state of torch that a compilation depends on, taken along to the worker."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.state import GlobalState
from workbench.errors import UsageError

_CONFIGS = {
    "dynamo": tp.DYNAMO_CONFIG,
    "inductor": tp.INDUCTOR_CONFIG,
    "functorch": tp.FUNCTORCH_CONFIG,
}
_AUTOCAST = ("cuda", "cpu")


@dataclass(frozen=True)
class TorchState:
    """Modes, threads and options; `options` holds what differs from its default, by config module.

    `guarded` is the state that torch's guards compare, as JSON.
    """

    grad: bool
    dtype: torch.dtype
    matmul_precision: str | None  # None where the user set it for each backend
    fp32: Mapping[str, str]
    deterministic: tuple[bool, bool]
    autocast: Mapping[str, tuple[bool, torch.dtype]]
    threads: int
    guarded: str
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def current(cls) -> TorchState:
        """The state of this thread."""
        return cls(
            grad=torch.is_grad_enabled(),
            dtype=torch.get_default_dtype(),
            matmul_precision=_matmul_precision(),
            fp32=_fp32(),
            deterministic=_deterministic(),
            autocast={
                kind: (torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind))
                for kind in _AUTOCAST
            },
            threads=torch.get_num_threads(),
            guarded=_guarded(),
            options={name: _changed(row) for name, row in _CONFIGS.items()},
        )

    @contextmanager
    def applied(self, keep: frozenset[str]) -> Iterator[None]:
        """Work under this state; options of Inductor named in `keep` stay as they are here."""
        with ExitStack() as stack:
            if self.threads != torch.get_num_threads():
                stack.callback(torch.set_num_threads, torch.get_num_threads())
                torch.set_num_threads(self.threads)
            stack.callback(torch.set_default_dtype, torch.get_default_dtype())
            torch.set_default_dtype(self.dtype)
            stack.callback(_set_precision, _matmul_precision(), _fp32())
            _set_precision(self.matmul_precision, self.fp32)
            stack.callback(_determine, *_deterministic())
            _determine(*self.deterministic)
            stack.enter_context(torch.set_grad_enabled(self.grad))
            for kind, (enabled, dtype) in self.autocast.items():
                if enabled:
                    stack.enter_context(torch.autocast(kind, dtype))
            for name, values in self.options.items():
                known = {key: value for key, value in values.items() if key not in keep}
                if known:
                    stack.enter_context(_CONFIGS[name].get().patch(known))
            yield

    @contextmanager
    def reproduced(self) -> Iterator[None]:
        """Work under this state; raises `UsageError` where this process cannot have all of it."""
        with self.applied(keep=frozenset()):
            wanted, here = json.loads(self.guarded), json.loads(_guarded())
            differing = [name for name in wanted if wanted[name] != here.get(name)]
            if differing:
                raise UsageError(
                    f"The worker cannot have the same {', '.join(differing)} as this process. "
                    "Compile it here with aot_compile."
                )
            yield


def _guarded() -> str:
    return json.dumps(GlobalState.current().snapshot, sort_keys=True)


def tf32_uses() -> tuple[str, ...]:
    """What torch's libraries may compute in TF32, as in `Request.tf32`."""
    # for products "bf16" means that less than TF32 will do
    return tuple(use for use, precision in _fp32().items() if precision in ("tf32", "bf16"))


def _fp32() -> dict[str, str]:
    """How values in float32 are multiplied on a GPU: "none" and "ieee" are exact."""
    return {
        "products": torch.backends.cuda.matmul.fp32_precision,
        "convolutions": _cudnn().conv.fp32_precision,
    }


def _cudnn() -> Any:
    return torch.backends.cudnn  # without types for what it has for each operator


def _matmul_precision() -> str | None:
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:  # set for each backend, which the older function cannot say
        return None


def _set_precision(matmul: str | None, fp32: Mapping[str, str]) -> None:
    if matmul is not None:
        torch.set_float32_matmul_precision(matmul)
    else:
        torch.backends.cuda.matmul.fp32_precision = fp32["products"]
    if _cudnn().conv.fp32_precision != fp32["convolutions"]:
        _cudnn().conv.fp32_precision = fp32["convolutions"]


def _deterministic() -> tuple[bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


def _determine(enabled: bool, warn_only: bool) -> None:
    if (enabled, warn_only) != _deterministic():  # setting it imports torch's compiler
        torch.use_deterministic_algorithms(enabled, warn_only=warn_only)


def _changed(row: tp.Name) -> dict[str, Any]:
    """Options that the user changed; a module that was not imported has none."""
    if row.module not in sys.modules:
        return {}
    config = row.get()
    return {
        name: value for name, value in config.get_config_copy().items() if _is_set(config, name)
    }


def _is_set(config: Any, name: str) -> bool:
    is_default = getattr(config, "_is_default", None)
    return is_default is not None and not is_default(name)
