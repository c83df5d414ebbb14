"""The weights of a running model: what it takes, and new ones swapped in while it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from typing import Any

import torch

from workbench.artifacts.manifest.package_manifest import PackagedConstant
from workbench.compiler.contract.contract import listing
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.running.container import Container
from workbench.compiler.running.slots import Slots
from workbench.errors import UsageError

CONSTANT, BUFFER = "constant", "buffer"


class Weights:
    """All weights of one model, in two sets: one is filled while the other is in use.

    A call sees one set from its start to its end. Between two sets it waits for the calls that
    run, for the time of a pointer swap.
    """

    def __init__(
        self,
        model: str,
        rows: Mapping[str, PackagedConstant],
        container: Container,
        slots: Slots,
        device: torch.device,
    ) -> None:
        self._model = model
        self._rows = rows
        self._container = container
        self._slots = slots
        self._device = device
        self._lock = Lock()
        self._folds = any(constant.folded for constant in container.constants)
        self._now: dict[str, torch.Tensor] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the module of what can be replaced."""
        return tuple(row.fqn for row in self._rows.values() if row.kind != CONSTANT)

    @property
    def missing(self) -> list[str]:
        """The names of what the library needs and nobody has given yet."""
        return [row.fqn for name, row in self._rows.items() if name not in self._now]

    def keep_own(self) -> None:
        """Use what the library itself holds."""
        self._container.fold(inactive=False)
        self._now = self._container.current()

    def start(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Hand over the first weights, which nobody can be using yet; some may come later."""
        self._now = dict(tensors)
        if not self.missing:
            self._container.set_weights(self._now, inactive=False)
            self._container.fold(inactive=False)

    def update(self, state: Any, *, partial: bool) -> None:
        """Swap in new weights; raises `UsageError` naming each one that does not fit."""
        given = _tensors(state)
        with self._lock:
            self._slots.require_open()
            fresh = self._checked(given, partial=partial)
            everything = {**self._now, **fresh}
            if lacks := self._rows.keys() - everything.keys():
                raise UsageError(
                    f"{self._model} was packaged without {', '.join(sorted(lacks))}, which no "
                    "state_dict holds: package it again."
                )
            if self._now.keys() != self._rows.keys():
                self._first(everything)
            else:
                self._swap(everything)
            self._now = everything

    def close(self) -> None:
        """Wait for running calls and for new weights on their way, then free the model."""
        with self._lock:
            self._slots.close(self._container.close)

    def _first(self, everything: dict[str, torch.Tensor]) -> None:
        """The first complete set, where the file held none: nothing was called before."""
        self._container.set_weights(everything, inactive=False)
        self._container.fold(inactive=False)

    def _swap(self, everything: dict[str, torch.Tensor]) -> None:
        container = self._container
        container.set_weights(everything, inactive=True)
        if not self._folds:
            container.fold(inactive=True)  # only says that there is nothing to compute
            with self._slots.all():
                container.swap()
        else:
            with self._slots.all():
                self._fold_and_swap()
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        container.forget_inactive(all_replaced=_is_disjoint(self._now, everything))

    def _fold_and_swap(self) -> None:
        try:
            self._container.fold(inactive=True)
        except BaseException:
            # a runner is left with the new weights: swapping there and back sets all of them
            self._container.swap()
            self._container.swap()
            raise
        self._container.swap()

    def _checked(
        self, given: Mapping[str, torch.Tensor], *, partial: bool
    ) -> dict[str, torch.Tensor]:
        problems: list[str] = []
        fresh: dict[str, torch.Tensor] = {}
        known: set[str] = set()
        for name, row in self._rows.items():
            if row.kind == CONSTANT:
                continue
            names = (row.fqn, *row.aliases)
            known.update(names)
            values = {n: given[n] for n in names if n in given}
            if not values:
                if not partial and not (row.kind == BUFFER and name in self._now):
                    problems.append(f"{row.fqn}: it is missing")
                continue
            problems.extend(_problems(row, values))
            fresh[name] = next(iter(values.values()))
        if partial:
            problems += [f"{n}: the model has no such weight" for n in given if n not in known]
        if problems:
            raise UsageError(
                f"These weights do not fit {self._model}; nothing was changed:\n{listing(problems)}"
            )
        return {name: self._copied(self._rows[name], value) for name, value in fresh.items()}

    def _copied(self, row: PackagedConstant, value: torch.Tensor) -> torch.Tensor:
        """The weight in memory of its own, laid out as the library expects."""
        fresh = TensorLike.named(row.shape, row.stride, row.dtype).empty(self._device)
        return fresh.copy_(value.detach())


def _is_disjoint(old: Mapping[str, torch.Tensor], new: Mapping[str, torch.Tensor]) -> bool:
    return all(new[name] is not tensor for name, tensor in old.items())


def _tensors(state: Any) -> dict[str, torch.Tensor]:
    """The tensors of a state_dict or of a module, whose tied and unsaved ones count too."""
    if isinstance(state, torch.nn.Module):
        named: Callable[..., Any] = state.named_parameters
        return {
            **dict(named(remove_duplicate=False)),
            **dict(state.named_buffers(remove_duplicate=False)),
        }
    if not isinstance(state, Mapping):
        raise UsageError(
            f"update_weights takes a state_dict or a module, not a {type(state).__name__}."
        )
    wrong = [name for name, value in state.items() if not isinstance(value, torch.Tensor)]
    if wrong:
        raise UsageError(f"update_weights takes tensors: {wrong[0]} is none.")
    return dict(state)


def _problems(row: PackagedConstant, values: Mapping[str, torch.Tensor]) -> Iterator[str]:
    for name, value in values.items():
        shape, dtype = list(value.shape), str(value.dtype).removeprefix("torch.")
        if (tuple(shape), dtype) != (row.shape, row.dtype):
            yield f"{name}: expected {row.dtype} {list(row.shape)}, got {dtype} {shape}"
            return
    (first, value), *others = values.items()
    for name, other in others:
        same = other.data_ptr() == value.data_ptr() or torch.equal(other, value)
        if not same:
            yield f"{name}: it is one tensor with {first}, but two different ones were given"
