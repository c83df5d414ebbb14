"""Globals that a program sets itself when it is first asked, such as flags of what is available.

A process that has just started does not have them yet. A file that was compiled where they were
there asks for them as the program would, and compares them from then on.
"""

from __future__ import annotations

import ast
import dis
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.compiler.contract.inlined_code import CODE, Inlined, InlinedCode
from workbench.compiler.contract.paths import Path
from workbench.compiler.contract.specialized_values import (
    SpecializedValue,
    SpecializedValues,
    resolve,
)
from workbench.errors import ArtifactError

_Instructions = frozenset[tuple[str, Any]]


def with_setters(
    rows: Sequence[Mapping[str, Any]], inlined: InlinedCode
) -> list[Mapping[str, Any]]:
    """The rows of a manifest; those of globals with the place of the traced code that sets them."""
    setters = [
        (place, frozenset((i.opname, i.argval) for i in dis.get_instructions(one.expected)))
        for one in inlined.parts
        if one.kind == CODE and (place := _place(one)) is not None
    ]
    found: list[Mapping[str, Any]] = []
    for row in rows:
        path = _set_place(row)
        places = [place for place, code in setters if row["owner"] and _sets(code, path)]
        found.append({**row, "asked": places[0]} if places and not row.get("asked") else row)
    return found


def _place(one: Inlined) -> str | None:
    """`module:path` of a function, or of the property or method that it is of."""
    if one.place is None and isinstance(one.holder, type):
        return f"{one.holder.__module__}:{one.expected.co_qualname}"
    return one.place


def _set_place(row: Mapping[str, Any]) -> Path:
    """What has to be set for the value to be there."""
    path, (known,) = Path.from_json(row["path"]), row["value"].values()
    if row["check"] == "attribute":
        return path.attr(ast.literal_eval(known))
    return path.item(known) if row["check"] == "key" else path


def _sets(code: _Instructions, path: Path) -> bool:
    if not path.steps:
        return ("STORE_GLOBAL", path.root) in code
    kind, name = path.steps[-1]
    if kind == "attr":
        return ("STORE_ATTR", name) in code
    opnames = {opname for opname, _ in code}  # an entry of a table, by whatever key
    return "STORE_SUBSCR" in opnames and ("LOAD_GLOBAL", path.root) in code


def ask(values: SpecializedValues) -> None:
    """Have the program set what it sets when it is first asked, as far as that takes no arguments.

    Raises `ArtifactError` where its code fails.
    """
    for one in values.not_there:
        assert one.owner is not None
        assert one.asked is not None
        holder = _holder(one, values.scopes[one.owner])
        try:
            setter = _bound(holder, one.asked)
            if callable(setter) and not _required(setter):
                setter()
        except (ImportError, KeyError):
            continue  # not to be reached here: compared once the value is there
        except Exception as error:  # whatever the program's own code raises
            raise ArtifactError(
                f"{one.name} was {one.value!r} when the file was compiled. Here {one.asked}, which "
                f"sets it, fails: {type(error).__name__}: {error}. Compile again here."
            ) from error


def _holder(one: SpecializedValue, scope: Mapping[str, Any]) -> Any:
    """The object whose attribute the value is, None for a global or where there is none."""
    path = one.path if one.check != "attribute" else one.path.attr("")
    try:
        return Path(path.root, path.steps[:-1]).get(scope) if path.steps else None
    except (KeyError, IndexError, AttributeError, TypeError):
        return None


def _bound(holder: Any, asked: str) -> Any:
    """The setter as a function without self; a property is read by this."""
    owner, _, name = asked.rpartition(".")
    kind = holder if isinstance(holder, type) else type(holder)
    if ":" in owner and resolve(owner) in kind.__mro__:
        return getattr(holder, name)
    return resolve(asked)


def _required(function: Any) -> bool:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return any(p.default is p.empty and p.kind not in kinds for p in parameters)
