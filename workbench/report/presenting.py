"""What a record shows itself by, asked of the `Presenter` that `workbench.ports` finds."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, overload

from workbench.ports import Ports

if TYPE_CHECKING:
    import pandas

    from workbench.report.presenter import Presenter, SweepFiles


def presenter() -> Presenter:
    """What shows records."""
    return Ports.presenter()


def sweep_files() -> SweepFiles:
    """What reads and writes sweeps."""
    return Ports.sweep_files()


class Presented:
    """Base of a record that a presenter describes: in a terminal, and in a notebook."""

    def __repr__(self) -> str:
        """A short stable summary: no times, no addresses."""
        return presenter().text(self)

    def _repr_html_(self) -> str | None:
        return presenter().fragment(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        html = self._repr_html_()
        return {"text/plain": repr(self), **({} if html is None else {"text/html": html})}


def by_former_name(former: str, instead: str, value: Any, given: Any) -> Any:
    """What was given for an argument by its name or by its former one, which warns.

    The former names go with the next version.
    """
    if value is None:
        return given
    words = f"{former}= is now {instead}=."
    warnings.warn(words, DeprecationWarning, stacklevel=3)
    return value


class FormerTable:
    """An attribute by its name before `.frame()`: answers with a warning, for one more version."""

    def __init__(self, *choice: str) -> None:
        self._instead = f"frame({', '.join(map(repr, choice))})"
        self._choice = choice
        self.__doc__ = f"What `{self._instead}` gives; it goes with the next version."

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, record: None, owner: type) -> FormerTable: ...

    @overload
    def __get__(self, record: object, owner: type) -> pandas.DataFrame: ...

    def __get__(self, record: Any, owner: type) -> Any:
        if record is None:
            return self
        warnings.warn(
            f"{owner.__name__}.{self._name} is now .{self._instead}.",
            DeprecationWarning,
            stacklevel=2,
        )
        return record.frame(*self._choice)
