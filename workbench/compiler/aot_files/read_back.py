"""What is about to be written, read back: what a load would refuse is refused by name before."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from workbench.compiler.aot_files.deserialize import Libraries, deserialize
from workbench.compiler.aot_files.late_attributes import say_setter
from workbench.compiler.aot_files.payload import Serialized
from workbench.compiler.aot_files.stored_weights import find_changed
from workbench.compiler.call_plan.guard_sandbox import GuardSandbox
from workbench.compiler.call_plan.plan import CallPlan
from workbench.compiler.captured_code.specialized_values import is_found_again
from workbench.compiler.guards.guard_words import shown
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import hold_messages
from workbench.errors import ArtifactError, UsageError, WorkbenchError


def require_readable(
    serialized: Serialized,
    aot_fn: Any,
    contract_json: Mapping[str, Any],
    specialized_json: Sequence[Any],
    *,
    receiver: tuple[Any, ...],
    external_data: Mapping[str, Any],
    example: GuardSandbox | None,
    tensors: Collection[str] = (),
) -> None:
    """Read code, constants, names and guards back, and put the example call to those guards.

    Nothing of the model runs and no library is started. `example` has the guards of this process:
    where they do not accept the example call now, it is not put to the ones that were read. At
    the places of `tensors`, as guards name them, are to be the same numbers.

    Raises `ArtifactError` with what cannot be read back, and for code that fits no call any more.
    """
    name = contract_json.get("name", "The compiled function")
    scope = aot_fn.fn.__globals__
    log = logging.getLogger(tp.TRACING.module)  # tells at length what is raised, too
    with _explained(name), hold_messages(log, "Error while creating guard", "Created at"):
        found = deserialize(
            serialized.payload,
            Libraries({}, None, packed=True, started=False),
            aliases=serialized.aliases,
            external_data=external_data,
            f_globals={n: scope[n] for n in serialized.missing_names},
        )
    if example is None:
        return
    try:
        if not example.check().ok:
            if spent := say_setter(*example.refused_now(), example.plan.inlined):
                raise ArtifactError(f"{name} cannot be saved: no call fits it any more. {spent}")
            return
    except UsageError:  # inputs that cannot be made from a description
        return
    with _explained(name):
        plan = CallPlan.from_json(
            json.loads(json.dumps(contract_json)),
            specialized_json,
            receiver=receiver[0] if receiver else None,
            f_globals=scope,
            handed_over=external_data,
        )
        read = GuardSandbox(tp.artifacts_of(found), plan, example.example)
        answer = read.check()
    if not answer.ok:
        raise ArtifactError(
            f"{name} cannot be saved: read back from the file, its checks refuse the call that it "
            f"was compiled with: {answer.failed or answer.guard}. {_CURE}"
        )
    if changed := find_changed(tensors, example.held, read.held):
        raise ArtifactError(f"{name} cannot be saved: {changed}. {_CURE}")


def require_own_identity(
    name: str, plan: CallPlan, aot_fn: Any, outside: Mapping[str, Any]
) -> None:
    """Raise `ArtifactError` for an argument that has to be the very object which a file copies."""
    env = tp.artifacts_of(aot_fn).runtime_env
    held = {
        name: cell.cell_contents
        for name, cell in zip(env.bytecode.co_freevars, env.closure or (), strict=False)
        if name not in outside
    }
    for pair in plan.aliased:
        stored = [name for name in pair if name in held]
        if len(stored) == 1 and not is_found_again(held[stored[0]]):
            argument = pair[0] if pair[1] == stored[0] else pair[1]
            raise ArtifactError(
                f"{name} cannot be saved: it was compiled for {argument} and "
                f"{stored[0]}, which it captured, being one object, and a file would hold another "
                f"one. Leave it out, save(path, external_data={{{stored[0]!r}: …}}), and hand it "
                "back at load; or compile with another object as argument."
            )
    for pair in plan.read_as_inputs:
        place, given = map(shown, pair)
        raise ArtifactError(
            f"{name} cannot be saved: it was compiled for the global {place} and {given} "
            "being one object, reads one for both, and no file can ask whether they are. Compile "
            f"it with another object as {given}, such as a copy."
        )


_CURE = (
    "An object that is kept by identity or cannot be stored is left out of the file when it is "
    "named: save(path, external_data={'name': object}), and handed back at load under that name."
)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except WorkbenchError as error:
        raise ArtifactError(f"{name} cannot be saved: no load would take it. {error}") from error
    except Exception as error:  # unpickling raises whatever the stored objects raise
        words = f"{type(error).__name__}: {error}".split("\n")[0]
        raise ArtifactError(
            f"{name} cannot be saved, because what is written cannot be read back: {words}. "
            f"{_reason(error)}"
        ) from error


def _reason(error: Exception) -> str:
    if "wrapped_" in str(error):
        return (
            "With backend='eager' torch writes the functions of numpy by names that it does not "
            "have. Compile with backend='aot_eager' or 'inductor', or use torch's functions."
        )
    return _CURE
