"""A compiled function as it is called: like the original, checked on every call."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

import torch
from torch.compiler import is_compiling

from workbench.compiler.call_plan.plan import CallPlan
from workbench.compiler.calls.call_path import FastCheck, build_binder, caller
from workbench.compiler.contract.contract import build_fast_guard
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.surroundings import surroundings
from workbench.compiler.late_values.late_attributes import ask_object, say_setter
from workbench.errors import ContractError, UsageError, WorkbenchError, wrap_failed_call
from workbench.handles.base.compiled_base import CompiledBase

if TYPE_CHECKING:
    from workbench.compiler.call_plan.guard_sandbox import Example, GuardSandbox
    from workbench.compiler.captured_graphs.captured import CapturedGraph
    from workbench.handles.base.compiled_base import LateReport, Recipe
    from workbench.report import Report


class CheckedCall(CompiledBase):
    """Check each call, then run the compiled code (see `Compiled`)."""

    def __init__(
        self,
        aot_fn: Any,
        plan: CallPlan,
        report: Report | LateReport,
        *,
        original: Callable[..., Any] | None = None,
        example: Example | None = None,
        recipe: Recipe | None = None,
        graphs: Mapping[str, CapturedGraph] | None = None,
    ) -> None:
        self._aot_fn = aot_fn
        self.graphs = graphs or {}
        env = tp.artifacts_of(aot_fn).runtime_env
        self._plan = replace(
            plan,
            closure=frozenset(env.bytecode.co_freevars),
            inlined=plan.inlined.with_modules(
                _read_by(env, plan.receiver), frozenset(_names_in(env.bytecode))
            ),
        )
        self._original = original
        self._example = example
        self.recipe = recipe
        self._report = report
        self._checked = True
        self._guards_raised = False
        self._can_be_read = self._plan.contract.can_be_read()
        self._call = self._build_call()
        self._traced = self._for_tracing()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the compiled code on inputs that fit the contract.

        If another compilation traces the call, it inlines the original's code. A call loaded
        without its original is a graph break there.
        """
        if is_compiling():
            return self._traced(*args, **kwargs)
        try:
            return self._call(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                raise self._failed(error, args, kwargs) from error  # from inside
            words = str(error).replace("call()", f"{self.name}()")
            shown = tp.artifacts_of(self._aot_fn).signature
            message = f"{words}. The signature is {self.name}{shown}."
            raise ContractError(message) from error
        except WorkbenchError:
            raise
        except Exception as error:
            raise self._failed(error, args, kwargs) from error

    def _failed(
        self, error: Exception, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> WorkbenchError:
        """What to raise for what a call raised: what runs around it may be the reason."""
        if self._checked and self._plan.state is not None:
            self._plan.state.restore_torch_function()
        around = list(surroundings(self.name, (*args, *kwargs.values())))
        if around:
            return ContractError("\n".join(f"{one}." for one in around))
        if empty := self._empty_cells():
            return self._plan.misfit(self.name, empty)
        if hidden := self._hidden(args, kwargs):
            self._guards_raised = True
            return self._plan.misfit(self.name, hidden)
        return wrap_failed_call(self.name, error)

    def _empty_cells(self) -> list[str]:
        """A sentence for each variable of the closure that has no value any more."""
        env = tp.artifacts_of(self._aot_fn).runtime_env
        cells = zip(env.bytecode.co_freevars, env.closure or (), strict=False)
        said = "a closure variable without a value"
        return [f"{name}: {said}" for name, cell in cells if cell == types.CellType()]

    def _hidden(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
        """A sentence for each tensor beside the inputs that makes torch's guards raise."""
        artifacts = tp.artifacts_of(self._aot_fn)
        env = artifacts.runtime_env
        with contextlib.suppress(TypeError):  # the call itself does not fit
            bound = dict(build_binder(artifacts.signature)(*self._plan.receiver, *args, **kwargs))
            cells = zip(env.bytecode.co_freevars, env.closure or (), strict=False)
            bound |= {name: cell.cell_contents for name, cell in cells}
            rows = self.report.guards
            places = dict.fromkeys(row.source for row in rows if row.kind == "TENSOR_MATCH")
            return self._plan.unreadable(places, bound)
        return []

    @property
    def __name__(self) -> str:
        """The name of the original, as callers expect of a function."""
        return self.name

    def __copy__(self) -> Self:
        """Return itself, as a function's copy does; refuses if it is called on an object."""
        if self._plan.receiver:
            self.__reduce_ex__(4)
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        """Return itself, as a function's copy does; refuses if it is called on an object."""
        return self.__copy__()

    @property
    def module(self) -> torch.nn.Module | None:
        """The called module, or None."""
        owner = self._plan.receiver[0] if self._plan.receiver else None
        return owner if isinstance(owner, torch.nn.Module) else None

    @property
    def plan(self) -> CallPlan:
        """The plan for calls and their checks."""
        return self._plan

    @property
    def aot_fn(self) -> Any:
        """Torch's own compiled function."""
        return self._aot_fn

    @property
    def original(self) -> Callable[..., Any] | None:
        """The function or module that was compiled, if it still exists in this process."""
        return self._original

    @property
    def reference_name(self) -> str | None:
        """`module:qualified.name` of the function, if it can be imported."""
        return self._plan.reference

    @property
    def enters_no_grad(self) -> bool:
        """Whether calls disable gradients themselves."""
        return self._plan.enters_no_grad

    @cached_property
    def guard_sandbox(self) -> GuardSandbox:
        """A sandbox for checking other inputs against the guards without running compiled code."""
        from workbench.compiler.call_plan.guard_sandbox import GuardSandbox

        return GuardSandbox(tp.artifacts_of(self._aot_fn), self._plan, self._example)

    def _build_call(self) -> Callable[..., Any]:
        artifacts, plan = tp.artifacts_of(self._aot_fn), self._plan
        env = artifacts.runtime_env
        names = env.bytecode.co_freevars if env.closure else ()
        state, no_grad = plan.state, plan.enters_no_grad
        return caller(
            artifacts.signature,
            dict(zip(names, env.closure or (), strict=True)),
            self._aot_fn.fn,
            receiver=plan.receiver,
            before=self._refresher(),
            state=(state.quick, state.holds) if self._checked and state is not None else None,
            same_code=plan.inlined.checker() if self._checked else None,
            checks=(
                (self._can_be_read, artifacts.guard_manager.check, *plan.checks())
                if self._checked
                else ()
            ),
            refuse=_call_weakly(ref(self), CheckedCall._refuse),
            apart=plan.apart,
            quick=self._quick() if self._checked else None,
            tracers=tp.DISPATCH_MODE_COUNT.get() if self._checked else None,
            grad_switch=(torch.is_grad_enabled, tp.SET_GRAD_ENABLED.get()) if no_grad else None,
        )

    def _for_tracing(self) -> Callable[..., Any]:
        """What another compilation sees in place of the guards and the machine code."""
        if self._original is None:
            reason = f"{self.name} is compiled code from a file, without its eager function"
            disable: Any = torch.compiler.disable
            opaque = _call_weakly(ref(self), CheckedCall._run_opaquely)
            return disable(opaque, reason=reason)  # type: ignore[no-any-return]
        return torch.no_grad()(self._original) if self.enters_no_grad else self._original

    def _run_opaquely(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def _quick(self) -> FastCheck | None:
        """One expression that stands before the guards, where the signature is plain."""
        plan, signature = self._plan, tp.artifacts_of(self._aot_fn).signature
        if not plan.plain or plan.receiver or plan.checks():
            return None
        return build_fast_guard(signature, plan.contract)

    def _refresher(self) -> Callable[[], None] | None:
        """Brings the globals that the code reads up to date; torch keeps a copy of them."""
        live = dict(self._plan.live_globals)
        if not live:
            return None
        scope = self._aot_fn.fn.__globals__

        def refresh() -> None:
            for name, source in live.items():
                if name in source:
                    scope[name] = source[name]

        return refresh

    def _refuse(self, bound: Mapping[str, Any]) -> None:
        reasons: list[str] = []
        if self._guards_raised and self._holds_now(bound):
            return
        if self._can_be_read(bound):
            reasons = self._reasons(bound)
            if self._plan.live is None and self._is_set_late(reasons, bound):
                return
        cure = say_setter(reasons, bound, self._plan.inlined)
        self._plan.refuse(self.name, bound, reasons, cure)

    def _reasons(self, bound: Mapping[str, Any]) -> list[str]:
        """What torch's guards say of a call that does not fit."""
        answer = tp.artifacts_of(self._aot_fn).guard_manager.check_verbose(bound)
        return [] if answer.result else list(answer.verbose_code_parts)

    def _is_set_late(self, reasons: list[str], bound: Mapping[str, Any]) -> bool:
        """Whether a call fits once the objects have set what the original would have them set."""
        seen: list[list[str]] = []
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.enters_no_grad):
            while reasons not in seen and ask_object(reasons, bound, self._plan.inlined):
                seen.append(reasons)
                reasons = self._reasons(bound)
            return bool(seen) and not reasons and not self._plan.mismatches(bound)

    def _holds_now(self, bound: Mapping[str, Any]) -> bool:
        """Whether a call fits that was refused after one at which torch's guards had raised.

        Those that compare tensors with each other then still hold the tensors of that call (torch
        2.13), and say no once.
        """
        self._guards_raised = False
        guards = tp.artifacts_of(self._aot_fn).guard_manager
        is_read = self._can_be_read(bound) and guards.check(bound)
        return bool(is_read and not self._plan.mismatches(bound))

    def disable_guard_check(self) -> None:
        """Disable all call checks, so wrong inputs give wrong results or a crash."""
        self._checked = False
        self._call = self._build_call()

    def check_globals(self) -> dict[str, str]:
        """Return a state for each name: "ok", "changed: …", "not compared: …" or "not reachable …".

        Names include globals, inlined code, values read by torch's guards, and changed torch state,
        such as the grad mode. If a value has changed, calls are also refused. For a loaded file,
        "frozen at capture: …" marks a value that the code uses without comparing it.
        """
        specialized = self._plan.specialized
        inlined = self._plan.inlined
        verdicts = {} if self._plan.live is None else self._plan.live.verdicts()
        verdicts |= {name: f"frozen at capture: {value}" for name, value in self._plan.frozen()}
        verdicts |= {one.name: "ok" for one in inlined.parts if one.is_shown()}
        verdicts |= {name: f"changed: {how}" for name, how in inlined.changed()}
        verdicts |= {value.name: "ok" for value in specialized.values if value.owner is not None}
        mismatches = (m.partition(": ") for m in specialized.mismatches({}, arguments=False))
        verdicts |= {name: f"changed: {how}" for name, _, how in mismatches if name in verdicts}
        grad = torch.is_grad_enabled() and not self.enters_no_grad
        with torch.set_grad_enabled(grad):
            state = () if self._plan.state is None else self._plan.state.mismatches()
        verdicts |= {name: f"changed: {how}" for name, _, how in (s.partition(": ") for s in state)}
        verdicts |= {} if self._plan.state is None else self._plan.state.not_compared()
        lost = ((name, was) for name, was in self._plan.unreachable() if name in verdicts)
        return verdicts | {name: f"not reachable in this process{was}" for name, was in lost}


def _call_weakly(here: ref[CheckedCall], method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of compiled code that is a part of it: no circle, which would keep its weights."""

    def call(*args: Any, **kwargs: Any) -> Any:
        owner = here()
        if owner is None:
            raise UsageError(
                "The compiled code no longer exists. Keep the result of aot_compile or load."
            )
        return method(owner, *args, **kwargs)

    return call


def _read_by(env: Any, receiver: tuple[Any, ...]) -> dict[str, Any]:
    """The values that the code begins with: its receiver, its closure, its globals."""
    cells = zip(env.bytecode.co_freevars, env.closure or (), strict=False)
    return {
        **env.used_globals,
        **{name: cell.cell_contents for name, cell in cells if cell != types.CellType()},
        **dict.fromkeys(("self",) if receiver else (), *receiver),
    }


def _names_in(code: types.CodeType) -> Iterator[str]:
    """The attributes and keys that the code names."""
    yield from code.co_names
    yield from (value for value in code.co_consts if isinstance(value, str))
