"""The weights of a running model: what it takes, and new ones swapped in while it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import torch

from workbench.artifacts.manifest.package_manifest import PackagedConstant
from workbench.compiler.contract.contract import list_problems
from workbench.compiler.internals.local_device import wait_for_gpu
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.running.container import Container
from workbench.compiler.running.slots import Slots
from workbench.device_kinds import is_gpu
from workbench.errors import UsageError
from workbench.live_only import LivePart

CONSTANT, BUFFER = "constant", "buffer"


@dataclass(eq=False)
class Weights(LivePart):
    """All weights of one model, in two sets: one is filled while the other is in use.

    A call sees one set from its start to its end. Between two sets it waits for the calls that
    run, for the time of a pointer swap. `rows` are its constants by the library's names.
    """

    model: str
    rows: Mapping[str, PackagedConstant]
    container: Container
    slots: Slots
    device: torch.device
    _lock: Lock = field(default_factory=Lock)
    _now: dict[str, torch.Tensor] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the module of what can be replaced."""
        return tuple(row.fqn for row in self.rows.values() if row.kind != CONSTANT)

    @property
    def missing(self) -> list[str]:
        """The names of what the library needs and nobody has given yet."""
        return [row.fqn for name, row in self.rows.items() if name not in self._now]

    def keep_own(self) -> None:
        """Use what the library itself holds."""
        self.container.fold(inactive=False)
        self._now = self.container.current()

    def start(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Hand over the first weights, which nobody can be using yet; some may come later."""
        self._now = dict(tensors)
        if not self.missing:
            self.container.set_weights(self._now, inactive=False)
            self.container.fold(inactive=False)

    def update(self, state: Any, *, partial: bool) -> None:
        """Swap in new weights; raises `UsageError` naming each one that does not fit."""
        given = _read_state(state)
        with self._lock:
            self.slots.require_open()
            fresh = self._checked(given, partial=partial)
            everything = {**self._now, **fresh}
            if lacks := self.rows.keys() - everything.keys():
                raise UsageError(
                    f"{self.model} was packaged without {', '.join(sorted(lacks))}, which no "
                    "state_dict holds: package it again."
                )
            if self._now.keys() != self.rows.keys():  # the file held none: nothing was called
                self.container.set_weights(everything, inactive=False)
                self.container.fold(inactive=False)
            else:
                self._swap(everything)
            self._now = everything

    def close(self) -> None:
        """Wait for running calls and for new weights on their way, then free the model."""
        with self._lock:
            self.slots.close(self.container.close)

    def _swap(self, everything: dict[str, torch.Tensor]) -> None:
        container = self.container
        container.set_weights(everything, inactive=True)
        if not any(constant.folded for constant in container.constants):
            container.fold(inactive=True)  # only says that there is nothing to compute
            with self.slots.all():
                container.swap()
        else:
            with self.slots.all():
                self._fold_and_swap()
        if is_gpu(self.device):
            wait_for_gpu(self.device)
        replaced = all(everything[name] is not tensor for name, tensor in self._now.items())
        container.forget_inactive(all_replaced=replaced)

    def _fold_and_swap(self) -> None:
        try:
            self.container.fold(inactive=True)
        except BaseException:
            # a runner is left with the new weights: swapping there and back sets all of them
            self.container.swap()
            self.container.swap()
            raise
        self.container.swap()

    def _checked(
        self, given: Mapping[str, torch.Tensor], *, partial: bool
    ) -> dict[str, torch.Tensor]:
        problems: list[str] = []
        fresh: dict[str, torch.Tensor] = {}
        known: set[str] = set()
        for name, row in self.rows.items():
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
                f"These weights do not fit {self.model}; nothing was changed:\n"
                f"{list_problems(problems)}"
            )
        likes = {n: TensorLike.named(r.shape, r.stride, r.dtype) for n, r in self.rows.items()}
        # in memory of their own, laid out as the library expects
        return {n: likes[n].empty(self.device).copy_(v.detach()) for n, v in fresh.items()}


def _read_state(state: Any) -> dict[str, torch.Tensor]:
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
