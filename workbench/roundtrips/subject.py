"""What makes a round trip: a file, inputs and originals packed for other processes, eager's answer.

Everything lies in folders that whoever made the subject removes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import copy_all_inputs
from workbench.compiler.call_state.random_states import keep_random_state, moved, read_random_states
from workbench.compiler.call_state.reachable import Marks, Reached, Snapshot
from workbench.compiler.captured_code.specialized_values import resolve
from workbench.compiler.comparison.judgement import Again
from workbench.compiler.comparison.trial import DoublePrecision, follow_in_double, subject_of
from workbench.compiler.internals.torch_state import TorchState
from workbench.errors import ArtifactError, UsageError
from workbench.processes.shipping.caller_context import collect_unfiled_lines
from workbench.processes.shipping.shipped_values import pack
from workbench.report import Report
from workbench.roundtrips.run_loader import (
    flatten_form,
    flatten_gradients,
    flatten_plain,
    seed,
    state_leaves,
)

Leaves = dict[str, list[tuple[str, Any]]]
NEED_ORIGINAL = ("eager", "compile_cold", "compile_warm")
"""Ways that call the original itself."""
_NO_ORIGINAL = (
    "the original function is not in this process and cannot be imported: pass it as "
    "roundtrip(..., reference=function)"
)


@dataclass(frozen=True)
class Expected:
    """What the original gave here; `in_double` runs it again in double precision.

    That takes dice, by which every value is off by a part of its last digit, or None.
    """

    leaves: Leaves
    in_double: Again


@dataclass(frozen=True)
class TripPlan:
    """A file and what each way needs besides it; `reasons` say of a loader why it cannot run.

    `order` is what every process is told. `folders` are those that have to be removed. `operators`
    are what was captured, as `NodeRow.target` has them, where the report does not say it.
    `draws_otherwise` says that compiled code draws other numbers than torch from the same seed.
    """

    name: str
    file: Path
    digest: str
    order: Mapping[str, Any]
    report: Report
    expected: Expected | None
    reasons: Mapping[str, str]
    folders: Sequence[Path]
    operators: Collection[str] = ()
    saved_s: float | None = None
    notes: tuple[str, ...] = ()
    draws_otherwise: bool = True


@dataclass
class Shipment:
    """Packs what other processes need, and knows every folder that was made for it."""

    name: str
    folders: list[Path] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)

    def inputs(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], **more: Any) -> str:
        """The inputs, with what else every way is given; raises `UsageError` naming a culprit."""
        parcel = {
            "args": args,
            "kwargs": dict(kwargs),
            "state": TorchState.current(),
            "lines": collect_unfiled_lines(),
            **more,
        }
        return self._packed(parcel)

    def original(
        self, call: Any, receiver: tuple[Any, ...], needing: Sequence[str], **more: Any
    ) -> str | None:
        """The original; where it cannot be sent, the ways that need it get the reason."""
        why = _NO_ORIGINAL if call is None else None
        if why is None:
            try:
                return self._packed({"call": call, "receiver": receiver, **more})
            except UsageError as error:
                why = str(error)
        self.reasons.update({way: why for way in needing if way not in self.reasons})
        return None

    def _packed(self, parcel: Mapping[str, Any]) -> str:
        folder = pack(parcel, self.name, is_imported=True)
        self.folders.append(folder)
        return str(folder)


def require_same(file: Path, is_same: bool) -> None:
    """Raise `ArtifactError` where a file was replaced since it was loaded."""
    if not is_same:
        raise ArtifactError(f"{file.name} was replaced after it was loaded: load it again.")


def choose_original(
    given: Callable[..., Any] | None, alive: Callable[..., Any] | None, place: str | None
) -> Callable[..., Any] | None:
    """The original: the one that was given, the live one, or the one with this importable name.

    A name (`module:qualified.name`) that cannot be imported here gives None.
    """
    if given is not None or alive is not None or place is None:
        return given or alive
    try:
        original: Callable[..., Any] = resolve(place)
    except (ImportError, AttributeError):
        return None
    return original


def run_expected(
    original: Callable[..., Any] | None,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    module: torch.nn.Module | None,
    no_grad: bool,
) -> Expected | None:
    """What the original gives and changes in this process, on copies of the inputs."""
    if original is None:
        return None
    roots = [("", part) for part in (module, original) if part is not None]
    subject = subject_of(original, args, kwargs, roots)

    def found_in(mode: AbstractContextManager[Any]) -> Leaves:
        inputs = copy_all_inputs(args, kwargs, subject.held)
        before = Snapshot.of(subject.reached)
        is_on = torch.is_grad_enabled() and not no_grad
        with keep_random_state(), torch.set_grad_enabled(is_on):
            try:
                seed()
                with mode:
                    return _ran(original, inputs, subject.reached, before, is_on)
            finally:
                before.restore()

    def run(mode: DoublePrecision) -> Mapping[str, Any]:
        wide = found_in(mode)
        return {name: leaf for where in COMPARED for name, leaf in shown(where, wide)}

    plain = copy_all_inputs((found_in(nullcontext()),), {})[0][0]
    return Expected(plain, partial(follow_in_double, run))


def _ran(
    original: Callable[..., Any],
    inputs: tuple[tuple[Any, ...], dict[str, Any]],
    reached: Reached,
    before: Snapshot,
    with_gradients: bool,
) -> Leaves:
    at_first = read_random_states()
    output = original(*inputs[0], **inputs[1])
    drawn = moved(at_first, read_random_states())
    names = [*reached.tensors, *Marks(reached, {}, before.entries).names]
    leaves = flatten_plain(output, inputs) | state_leaves(before.changes(), names)
    leaves |= flatten_form(output, inputs, reached)
    leaves |= flatten_gradients(output, inputs, reached) if with_gradients else {}
    leaves["random"] = [*drawn.items()]
    return leaves


COMPARED = ("output", "inputs", "state", "gradients")
"""What of the leaves is compared by numbers."""


def shown(where: str, by_kind: Leaves) -> list[tuple[str, Any]]:
    """The leaves of one kind by the names that a comparison shows."""
    is_named = where in ("state", "gradients")
    named = by_kind.get(where, [])
    return [(n if is_named else n.replace("out", where, 1), leaf) for n, leaf in named]


def takes_grad(no_grad: bool) -> bool:
    """Whether gradients are compared: the code was compiled with them, and they are on."""
    return torch.is_grad_enabled() and not no_grad
