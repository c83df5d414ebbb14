"""The call path of a compiled function, generated for its signature so that nothing is slow."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Binder = Callable[..., dict[str, Any]]
Check = Callable[[dict[str, Any]], bool]
_KINDS = inspect.Parameter


@dataclass(frozen=True)
class FastCheck:
    """An expression that is true only for a call that fits, with the names that it uses.

    `tensors` are the names of inputs that may turn out to be nested tensors: the expression must
    not see one, which has no sizes and would end the process.
    """

    expression: str
    scope: Mapping[str, Any]
    tensors: Sequence[str] = ()

    def lines(self, then: str) -> list[str]:
        """Source that does `then` for a call that fits."""
        if not self.tensors:
            return [f"if {self.expression}: {then}"]
        nested = " or ".join(f"{name}.is_nested" for name in self.tensors)
        return [
            f"try: _wb_nested = {nested}",
            "except AttributeError: _wb_nested = True",
            f"if not _wb_nested and {self.expression}: {then}",
        ]


def build_binder(signature: inspect.Signature) -> Binder:
    """A function with the same signature that returns its arguments by name.

    Python itself then binds positional, keyword and default arguments, in a tenth of the time of
    `Signature.bind`.
    """
    parameters = list(signature.parameters.values())
    pairs = ", ".join(f"{p.name!r}: {p.name}" for p in parameters)
    return write_function(parameters, [f"return {{{pairs}}}"], {})


def caller(
    signature: inspect.Signature,
    cells: Mapping[str, types.CellType],
    run: Callable[..., Any],
    *,
    receiver: tuple[Any, ...] = (),
    before: Callable[[], None] | None = None,
    state: tuple[Callable[[], bool], Callable[[], bool]] | None = None,
    same_code: Callable[[], bool] | None = None,
    apart: Check | None = None,
    checks: Sequence[Check] = (),
    refuse: Callable[[dict[str, Any]], None] | None = None,
    quick: FastCheck | None = None,
    tracers: Callable[[], int] | None = None,
    grad_switch: tuple[Callable[[], bool], Callable[[bool], None]] | None = None,
) -> Callable[..., Any]:
    """A function with the same signature, less the receiver, that checks a call and runs it.

    `state` are a quick and a thorough check of the global state, the second for when the first
    says no; `same_code` compares the code that was compiled in. Each of `checks` gets the
    arguments by name; when one says no, `refuse` is called with them. Where `quick` is true of the
    parameters, no other check is made but the quick one of the state, that of the code and
    `apart`, which is asked about what is no input. `tracers` counts the modes that follow
    operators, some of which torch's guards pass over: there is to be none.
    `grad_switch` (read, set) keeps gradients off meanwhile.
    """
    parameters = list(signature.parameters.values())
    scope: dict[str, Any] = {"_wb_run": run, "_wb_before": before, "_wb_refuse": refuse}
    scope.update({f"_wb_cell_{i}": cell for i, cell in enumerate(cells.values())})
    scope.update({f"_wb_check_{i}": check for i, check in enumerate(checks)})
    scope["_wb_receiver"] = receiver[0] if receiver else None
    scope["_wb_same_state"], scope["_wb_thorough"] = state or (None, None)
    scope["_wb_same_code"], scope["_wb_tracers"] = same_code, tracers
    scope["_wb_grad"], scope["_wb_set_grad"] = grad_switch or (None, None)
    pairs = {p.name: p.name for p in parameters}
    passed = _passed(parameters)
    if receiver and parameters[0].kind is _KINDS.VAR_POSITIONAL:
        pairs[parameters[0].name] = f"(_wb_receiver, *{parameters[0].name})"
        passed = ["_wb_receiver", *passed]
    elif receiver:
        pairs[parameters[0].name] = passed[0] = "_wb_receiver"
        parameters = parameters[1:]
    lines = ["_wb_before()"] if before is not None else []
    if quick is not None and state is not None:
        scope.update(quick.scope)
        is_same = "_wb_same_state()" + ("" if same_code is None else " and _wb_same_code()")
        scope.update(_wb_apart=apart, _wb_nothing={})
        is_same += "" if apart is None else " and _wb_apart(_wb_nothing)"
        is_same += "" if tracers is None else " and not _wb_tracers()"
        whole = FastCheck(f"{quick.expression} and {is_same}", {}, quick.tensors)
        lines += whole.lines(f"return _wb_run({', '.join(passed)})")
    if checks:
        entries = [f"{name!r}: {value}" for name, value in pairs.items()]
        entries += [f"{name!r}: _wb_cell_{i}.cell_contents" for i, name in enumerate(cells)]
        lines.append(f"_wb_bound = {{{', '.join(entries)}}}")
        tests = [f"_wb_check_{i}(_wb_bound)" for i in range(len(checks))]
        tests = ["(_wb_same_state() or _wb_thorough())", *tests] if state is not None else tests
        tests = ["_wb_same_code()", *tests] if same_code is not None else tests
        tests = ["not _wb_tracers()", *tests] if tracers is not None else tests
        lines.append(f"if not ({' and '.join(tests)}): _wb_refuse(_wb_bound)")
    lines.append(f"return _wb_run({', '.join(passed)})")
    if grad_switch is not None:
        inner = [f"    {line}" for line in lines]
        lines = ["_wb_was = _wb_grad()", "_wb_set_grad(False)", "try:", *inner]
        lines += ["finally:", "    _wb_set_grad(_wb_was)"]
    return write_function(parameters, lines, scope)


def write_constant_test(name: str, value: Any, scope: dict[str, Any]) -> str:
    """The test that an input has the value, and its type."""
    if value is None or isinstance(value, bool):
        return f"{name} is {value!r}"
    number = len(scope)
    scope[f"_wb_c{number}"], scope[f"_wb_t{number}"] = value, type(value)
    return f"type({name}) is _wb_t{number} and {name} == _wb_c{number}"


def _passed(parameters: Sequence[inspect.Parameter]) -> list[str]:
    """The arguments as they are handed on."""
    stars: dict[Any, str] = {_KINDS.VAR_POSITIONAL: "*", _KINDS.VAR_KEYWORD: "**"}
    return [
        f"{p.name}={p.name}" if p.kind is _KINDS.KEYWORD_ONLY else stars.get(p.kind, "") + p.name
        for p in parameters
    ]


def _declared(parameters: Sequence[inspect.Parameter]) -> str:
    """The parameters as source; defaults are names of the scope."""
    texts: list[str] = []
    starred = False
    for i, parameter in enumerate(parameters):
        text = parameter.name
        if parameter.default is not _KINDS.empty:
            text += f"=_wb_default_{parameter.name}"
        if parameter.kind is _KINDS.VAR_POSITIONAL:
            text, starred = f"*{text}", True
        elif parameter.kind is _KINDS.VAR_KEYWORD:
            text = f"**{text}"
        elif parameter.kind is _KINDS.KEYWORD_ONLY and not starred:
            texts.append("*")
            starred = True
        texts.append(text)
        following = parameters[i + 1].kind if i + 1 < len(parameters) else None
        if parameter.kind is _KINDS.POSITIONAL_ONLY and following is not parameter.kind:
            texts.append("/")
    return ", ".join(texts)


def write_function(
    parameters: Sequence[inspect.Parameter],
    lines: Sequence[str],
    scope: dict[str, Any],
    file: str = "<string>",
) -> Callable[..., Any]:
    """The function with these parameters and this body.

    Names of the scope begin with `_wb_`: a parameter may be called anything else. Defaults are
    called `_wb_default_` and the name of the parameter there.
    """
    for parameter in parameters:
        if parameter.default is not _KINDS.empty:
            scope[f"_wb_default_{parameter.name}"] = parameter.default
    source = "\n    ".join([f"def call({_declared(parameters)}):", *lines])
    exec(compile(source, file, "exec"), scope)
    function: Callable[..., Any] = scope.pop("call")  # it would be in a circle with its globals
    return function
