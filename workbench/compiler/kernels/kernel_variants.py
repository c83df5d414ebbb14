"""A call of a hand-written kernel as Triton's compiler takes it, one for each configuration.

What Triton specializes on is all that is told of a tensor: its dtype, the alignment of its address,
the size of its storage. So a call of tensors on meta is compiled as one of tensors with numbers.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.internals.triton_functions import is_autotuner, is_jitted
from workbench.compiler.kernels.kernel_call import KernelCall, is_numberless, list_options
from workbench.errors import UsageError
from workbench.processes.shipping.anew import AnewPickler

_ALIGNED = 16  # bytes: what Triton asks an address and a size for
_NEAR = 2**31 - 1  # bytes, or a number: what 32 bits with a sign count to
_SHOWN = (int, float, bool, str)


@dataclass(frozen=True)
class StandIn:
    """What Triton's compiler asks of a tensor; `address` is that in a line of 16 bytes."""

    dtype: torch.dtype
    address: int
    storage_bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, tensor: torch.Tensor) -> StandIn:
        """The one of a tensor; of one on meta the offset in its storage is its alignment."""
        start = 0 if is_numberless(tensor) else tensor.untyped_storage().data_ptr()
        return cls(
            tensor.dtype,
            int(start + tensor.storage_offset() * tensor.element_size()) % _ALIGNED,
            tensor.untyped_storage().nbytes(),
            tuple(tensor.shape),
            tuple(tensor.stride()),
        )

    def data_ptr(self) -> int:
        """An address of the same alignment."""
        return self.address

    def ptr_range(self) -> int:
        """The bytes of its storage, which AMD's backend asks for."""
        return self.storage_bytes

    def stride(self) -> tuple[int, ...]:
        """Its strides, in elements."""
        return self.strides


def describe_assumed(value: Any) -> Any:
    """What Triton compiles an argument for: the same code serves every value that has it.

    Of tensors the dtype and the alignment, of numbers their type, 1, and being divisible by 16.
    What is none of these, such as a descriptor, is returned as it is.
    """
    if isinstance(value, StandIn):
        return str(value.dtype), value.address, value.storage_bytes <= _NEAR
    if isinstance(value, float):
        return "float"
    if type(value) is not int:
        return value
    width = "i32" if -(_NEAR + 1) <= value <= _NEAR else "i64" if value < 1 << 63 else "u64"
    return width, value == 1, value % _ALIGNED == 0


@dataclass(frozen=True)
class Variant:
    """One configuration of a call.

    `arguments` have stand-ins in the place of tensors; `constants` are the values of `tl.constexpr`
    parameters, `options` those of Triton for the kind of GPU, `dropped` the names of others.
    """

    choice: str
    arguments: Mapping[str, Any]
    constants: Mapping[str, Any]
    options: Mapping[str, Any]
    dropped: tuple[str, ...] = ()
    config: Any = field(default=None, compare=False)

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """The constants that are whole numbers."""
        return tuple((n, v) for n, v in self.constants.items() if type(v) is int)


@dataclass(frozen=True)
class OwnSource:
    """The same for the worker: the function and the values of a call, pickled."""

    function: bytes
    values: bytes
    options: Mapping[str, Any]


def make_source(call: KernelCall, variant: Variant) -> OwnSource:
    """What the worker compiles; raises `UsageError` for what cannot be sent."""
    try:
        return OwnSource(
            _dump(call.jit),
            _dump((dict(variant.arguments), dict(variant.constants))),
            variant.options,
        )
    except UsageError:
        raise
    except Exception as error:  # pickling raises whatever the objects raise
        raise UsageError(
            f"{call.name} cannot be sent to the compile process ({error}). Remove globals that "
            "cannot be pickled from the kernel."
        ) from error


def _dump(value: Any) -> bytes:
    buffer = io.BytesIO()
    AnewPickler(buffer).dump(value)
    return buffer.getvalue()


def list_variants(
    call: KernelCall, build: str, configs: Sequence[Any] | None = None
) -> list[Variant]:
    """Every configuration of a call for a kind of GPU, as Triton names it: "cuda" or "hip".

    `configs` are `triton.Config` or mappings of values; without them those of the autotuner that it
    does not prune before it times any. Raises `UsageError` for a configuration that is none.
    """
    if configs is None:
        configs = prune_configs(call)
    if not configs:
        return [make_variant(call, build)]
    return [make_variant(call, build, config) for config in configs]


def make_variant(call: KernelCall, build: str, config: Any = None) -> Variant:
    """A call in one configuration; its hooks run on copies, and on tensors without numbers."""
    chosen = read_config(config)
    unknown = [n for n in chosen if n not in call.parameters and n not in list_options()]
    if unknown:
        raise UsageError(
            f"{call.name} has no parameter {unknown[0]}, and Triton has no option of this name."
        )
    meta = call.all_meta(chosen)
    own = {*call.constants}
    lacking = [name for name in call.constants if name not in meta]
    if lacking:
        raise UsageError(
            f"{call.name}: the tl.constexpr argument {lacking[0]} is missing in both the call and "
            "this configuration."
        )
    options = {n: v for n, v in meta.items() if n not in own or n in list_options()}
    build_options = {*list_options(build)}
    choices = chosen if config is not None else {n: v for n, v in meta.items() if n in own}
    return Variant(
        choice=", ".join(
            f"{n}={v}" for n, v in choices.items() if n in own and isinstance(v, _SHOWN)
        ),
        arguments=dict(_describe(call, config, meta)),
        constants={n: getattr(v, "value", v) for n, v in meta.items() if n in own},
        options={n: v for n, v in options.items() if n in build_options},
        dropped=tuple(n for n in options if n not in build_options),
        config=config,
    )


def read_config(config: Any) -> dict[str, Any]:
    """What a configuration sets, by name; raises `UsageError` for what is none."""
    if config is None:
        return {}
    if hasattr(config, "all_kwargs"):
        return dict(config.all_kwargs())
    if isinstance(config, Mapping):
        return dict(config)
    raise UsageError(
        f"A configuration is a {type(config).__name__}: expected a triton.Config or a mapping, "
        'such as {"BLOCK": 128, "num_warps": 4}.'
    )


def prune_configs(call: KernelCall) -> tuple[Any, ...]:
    """The configurations of the autotuner that its own `early_config_prune` leaves.

    Raises `UsageError` where that raises, or leaves none.
    """
    inner, configs = call.function, call.configs
    while not is_jitted(inner):
        prune = getattr(inner, "early_config_prune", None) if is_autotuner(inner) else None
        if prune is not None:
            try:
                configs = tuple(prune(list(inner.configs), dict(call.arguments), **call.meta))
            except Exception as error:  # it is the user's
                raise UsageError(
                    f"{call.name}: early_config_prune of its autotuner raised "
                    f"{type(error).__name__} ({error})."
                ) from error
            if not configs:
                raise UsageError(
                    f"{call.name}: early_config_prune of its autotuner returned no configuration."
                )
        inner = inner.fn
    return configs


def _describe(call: KernelCall, config: Any, meta: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments with stand-ins, after the hook of a configuration."""
    arguments = {name: _without_numbers(value) for name, value in call.arguments.items()}
    hook = getattr(config, "pre_hook", None)
    if hook is not None:
        try:
            hook({**arguments, **meta})
        except Exception as error:  # it is the user's, and meets tensors on meta
            raise UsageError(
                f"{call.name}: the pre_hook of a configuration raised {type(error).__name__} "
                f"({error}). Its tensors have no values here."
            ) from error
    for name, value in arguments.items():
        yield name, _stand_in(value, call.arguments[name])


def _without_numbers(value: Any) -> Any:
    """A copy that a hook may change."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("meta")
    if hasattr(value, "block_shape"):
        descriptor = copy.copy(value)
        descriptor.base = value.base.detach().to("meta")
        descriptor.block_shape = list(value.block_shape)
        return descriptor
    if isinstance(value, tuple):
        return _remade(value, map(_without_numbers, value))
    return value


def _stand_in(value: Any, original: Any) -> Any:
    if isinstance(original, torch.Tensor):
        return StandIn.of(original)
    if hasattr(original, "block_shape"):
        value.base = StandIn.of(original.base)
        return value
    if isinstance(original, tuple):
        return _remade(original, map(_stand_in, value, original))
    return value


def _remade(value: tuple[Any, ...], parts: Iterable[Any]) -> tuple[Any, ...]:
    """A tuple of the same kind of other parts."""
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
