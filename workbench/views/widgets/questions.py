"""What the front end may ask with each request: its fields, compared before anybody reads them."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import (
    Any,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from workbench.errors import UsageError
from workbench.views.live_actions import ACTIONS
from workbench.views.wire.report_messages import GuardQuestion
from workbench.views.wire.sweep_messages import RowQuestion, RowsQuestion

_QUESTIONS: Mapping[str, type] = {
    "guard-check": GuardQuestion,
    "row": RowQuestion,
    "compare-rows": RowsQuestion,
    **{id: shown.question for id, shown in ACTIONS.items() if shown.question is not None},
}
_MAY_LACK = ("guard-check",)  # the answer says what to send


def check_message(content: Any) -> None:
    """Raise `UsageError` for a message that is no request, or lacks what its request needs."""
    if not isinstance(content, Mapping):
        raise UsageError(f"A message is a {type(content).__name__}: expected an object with `ask`.")
    ask = content.get("ask")
    if not isinstance(ask, str):
        raise UsageError(f"A message asks for {ask!r:.80}: expected the name of what is wanted.")
    question = content.get("question")
    if ask in _QUESTIONS and not (question is None and ask in _MAY_LACK):
        _check(question, _QUESTIONS[ask], f"The question of {ask!r}")


def _check(value: Any, kind: Any, what: str) -> None:
    """Raise `UsageError` unless a value of JSON is of a type that the wire declares."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if not any(_is(value, one, what) for one in inner):
            raise UsageError(f"{what} is {value!r:.80}.")
    elif is_typeddict(kind):
        _check_fields(value, kind, what)
    elif origin in (list, tuple):
        if not isinstance(value, list):
            raise UsageError(f"{what} is {value!r:.80}: expected a list.")
        for number, part in enumerate(value):
            _check(part, inner[0] if origin is list else Any, f"{what}, at {number},")
    elif kind is float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise UsageError(f"{what} is {value!r:.80}: expected a number.")
    elif isinstance(kind, type) and type(value) is not kind:
        raise UsageError(f"{what} is {value!r:.80}: expected {kind.__name__}.")


def _check_fields(value: Any, kind: Any, what: str) -> None:
    if not isinstance(value, Mapping):
        raise UsageError(f"{what} is {value!r:.80}: expected an object.")
    for name, hint in get_type_hints(kind, include_extras=True).items():
        is_optional = get_origin(hint) is NotRequired
        hint = get_args(hint)[0] if get_origin(hint) in (NotRequired, Required) else hint
        if name in value:
            _check(value[name], hint, f"{what}: {name}")
        elif not is_optional:
            raise UsageError(f"{what} lacks {name!r}.")


def _is(value: Any, kind: Any, what: str) -> bool:
    try:
        _check(value, kind, what)
    except UsageError:
        return False
    return True
