"""The call path of a compiled function, generated for its signature so that nothing is slow."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    return _function(parameters, [f"return {{{pairs}}}"], defaults(parameters))


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
    scope = {**defaults(parameters), "run": run, "before": before, "refuse": refuse}
    scope.update({f"cell_{i}": cell for i, cell in enumerate(cells.values())})
    scope.update({f"check_{i}": check for i, check in enumerate(checks)})
    scope.update(receiver=receiver[0] if receiver else None)
    scope["same_state"], scope["thorough"] = state or (None, None)
    scope["same_code"], scope["tracers"] = same_code, tracers
    scope["grad"], scope["set_grad"] = grad_switch or (None, None)
    pairs = {p.name: p.name for p in parameters}
    passed = _passed(parameters)
    if receiver and parameters[0].kind is _KINDS.VAR_POSITIONAL:
        pairs[parameters[0].name] = f"(receiver, *{parameters[0].name})"
        passed = ["receiver", *passed]
    elif receiver:
        pairs[parameters[0].name] = passed[0] = "receiver"
        parameters = parameters[1:]
    lines = ["before()"] if before is not None else []
    if quick is not None and state is not None:
        scope.update(quick.scope)
        is_same = "same_state()" if same_code is None else "same_state() and same_code()"
        scope.update(apart=apart, nothing={})
        is_same += "" if apart is None else " and apart(nothing)"
        is_same += "" if tracers is None else " and not tracers()"
        whole = FastCheck(f"{quick.expression} and {is_same}", {}, quick.tensors)
        lines += whole.lines(f"return run({', '.join(passed)})")
    if checks:
        shown = [f"{name!r}: {value}" for name, value in pairs.items()]
        shown += [f"{name!r}: cell_{i}.cell_contents" for i, name in enumerate(cells)]
        lines.append(f"bound = {{{', '.join(shown)}}}")
        tests = [f"check_{i}(bound)" for i in range(len(checks))]
        tests = ["(same_state() or thorough())", *tests] if state is not None else tests
        tests = ["same_code()", *tests] if same_code is not None else tests
        tests = ["not tracers()", *tests] if tracers is not None else tests
        lines.append(f"if not ({' and '.join(tests)}): refuse(bound)")
    lines.append(f"return run({', '.join(passed)})")
    if grad_switch is not None:
        inner = [f"    {line}" for line in lines]
        lines = ["was = grad()", "set_grad(False)", "try:", *inner, "finally:", "    set_grad(was)"]
    return _function(parameters, lines, scope)


def defaults(parameters: Iterable[inspect.Parameter], prefix: str = "default_") -> dict[str, Any]:
    """The defaults of parameters under the names that `declared` gives them."""
    return {f"{prefix}{p.name}": p.default for p in parameters if p.default is not _KINDS.empty}


def _passed(parameters: Sequence[inspect.Parameter]) -> list[str]:
    """The arguments as they are handed on."""
    stars: dict[Any, str] = {_KINDS.VAR_POSITIONAL: "*", _KINDS.VAR_KEYWORD: "**"}
    return [
        f"{p.name}={p.name}" if p.kind is _KINDS.KEYWORD_ONLY else stars.get(p.kind, "") + p.name
        for p in parameters
    ]


def declared(parameters: Sequence[inspect.Parameter], prefix: str = "default_") -> str:
    """The parameters as source; defaults are names with the prefix."""
    shown: list[str] = []
    starred = False
    for i, parameter in enumerate(parameters):
        text = parameter.name
        if parameter.default is not _KINDS.empty:
            text += f"={prefix}{parameter.name}"
        if parameter.kind is _KINDS.VAR_POSITIONAL:
            text, starred = f"*{text}", True
        elif parameter.kind is _KINDS.VAR_KEYWORD:
            text = f"**{text}"
        elif parameter.kind is _KINDS.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        shown.append(text)
        following = parameters[i + 1].kind if i + 1 < len(parameters) else None
        if parameter.kind is _KINDS.POSITIONAL_ONLY and following is not parameter.kind:
            shown.append("/")
    return ", ".join(shown)


def _function(
    parameters: Sequence[inspect.Parameter], lines: Sequence[str], scope: dict[str, Any]
) -> Callable[..., Any]:
    """The function with these parameters and this body."""
    exec("\n    ".join([f"def call({declared(parameters)}):", *lines]), scope)
    made: Callable[..., Any] = scope["call"]
    return made
