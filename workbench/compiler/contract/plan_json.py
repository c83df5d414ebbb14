"""A call plan as the JSON of a manifest, so that a loaded file checks what the original checked."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from workbench.compiler.contract import specialized_values
from workbench.compiler.contract.choices import GUARD_POLICIES
from workbench.compiler.contract.contract import Contract
from workbench.compiler.contract.plan import CallPlan
from workbench.compiler.internals.torch_state import GlobalState
from workbench.errors import ArtifactError
from workbench.report import Request


def to_json(plan: CallPlan, request: Request) -> dict[str, Any]:
    """Everything of a plan but its specialized values and the receiver itself."""
    return {
        "name": request.name,
        "request": _request(plan, request),
        "kind": plan.kind,
        "inputs": plan.contract.to_json(),
        "state": plan.state.snapshot if plan.state is not None else None,
        "enters_no_grad": plan.enters_no_grad,
        "live_globals": sorted(plan.live_globals),
        "function_module": plan.function_module,
        "receiver": _receiver(plan),
        "reference": plan.reference,
        "guarded": sorted(plan.guarded),
        "plain": plan.plain,
    }


def _request(plan: CallPlan, request: Request) -> dict[str, Any]:
    """What has to be asked again to get the same compilation."""
    return {
        "backend": request.backend,
        "mode": None,
        "options": [list(option) for option in request.options],
        "grad": request.grad if not plan.enters_no_grad else False,
        "target": request.target,
        "guards": request.guards if request.guards in GUARD_POLICIES else "portable",
        "capture": request.capture,
    }


def _receiver(plan: CallPlan) -> str | None:
    if not plan.receiver:
        return None
    owner = type(plan.receiver[0])
    return f"{owner.__module__}.{owner.__qualname__}"


def specialized_to_json(plan: CallPlan, without: Sequence[str]) -> list[dict[str, Any]]:
    """The specialized values that can be compared in another process."""
    return [
        value.to_json()
        for value in plan.specialized.values
        if value.known and not (value.owner is None and value.path.root in without)
    ]


def from_json(
    data: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    *,
    receiver: Any | None,
    f_globals: Mapping[str, Any] | None,
    handed_over: Collection[str] = (),
) -> CallPlan:
    """Rebuild a plan in this process; raises `ArtifactError` when the receiver is not given.

    The names in `handed_over` are the caller's objects, not those of a global of that name.
    """
    if data["receiver"] is not None and receiver is None:
        raise ArtifactError(
            f"{data['name']} is called on a {data['receiver']}, whose weights are not in the file. "
            "Pass it: load(path, module=model)."
        )
    values, _ = specialized_values.from_json(rows)
    owner = data["function_module"]
    known = sys.modules.get(owner)
    scope: Mapping[str, Any] = f_globals if f_globals is not None else vars(known) if known else {}
    return CallPlan(
        contract=Contract.from_json(data["inputs"]),
        specialized=specialized_values.SpecializedValues(
            values, specialized_values.scopes_for(values, owner, scope)
        ),
        state=GlobalState(data["state"]) if data["state"] is not None else None,
        receiver=() if data["receiver"] is None else (receiver,),
        enters_no_grad=data["enters_no_grad"],
        live_globals={
            name: scope
            for name in data["live_globals"]
            if name in scope and name not in handed_over
        },
        function_module=owner,
        kind=data["kind"],
        reference=data["reference"],
        guarded=frozenset(data["guarded"]),
        plain=data["plain"],
    )
