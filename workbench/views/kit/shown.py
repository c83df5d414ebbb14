"""How one kind of record is shown: what each file that shows a kind gives of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError
from workbench.report.presenter import Presented
from workbench.views.kit.blocks import Document
from workbench.views.wire.report_messages import PaneId

if TYPE_CHECKING:
    from workbench.analysis.quantities.quantities import Quantity
    from workbench.report.table import Table


def show_as_text(record: Any) -> str:
    """Its own `repr`, or its fields."""
    own: object = type(record).__repr__
    if own is not Presented.__repr__:
        return repr(record)
    if not is_dataclass(record):
        return object.__repr__(record)
    shown = ", ".join(f"{f.name}={getattr(record, f.name)!r}" for f in fields(record) if f.repr)
    return f"{type(record).__name__}({shown})"


def list_text_alone(record: Any) -> tuple[str, ...]:
    """Its text, where no sentence says what matters most."""
    return (repr(record),)


def list_no_numbers(record: Any) -> tuple[Quantity, ...]:
    """None: it has no single numbers."""
    return ()


def refuse(record: Any, *_: Any, **__: Any) -> Any:
    """Raise `UsageError`: there is no such table, no such chart."""
    raise UsageError(f"{type(record).__name__} does not have this table or chart.")


def refuse_times(record: Any, *_: Any) -> Any:
    """Raise `UsageError`: a report takes no times from it."""
    raise UsageError(
        f"profile: expected a report with measured times, got {type(record).__name__}."
    )


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What shows one kind of record, each called with it; what is left out is shown as text.

    Its `document` of blocks is drawn as its page and as what a notebook keeps. A notebook that runs
    shows its `live` view, else its `view`; of what is a `pane` of a compilation, that one. The
    commands print its `numbers` and `tables` as JSON, and in a terminal its `terminal` text.
    `explain` takes the record and a row of its tables, and says why that came about.
    `compare` takes two of the kind, and may get another record as one of them; `add_times` takes
    the record and the report that gets its times, `join` the record and a report to learn from.
    """

    document: Callable[..., Document] | None = None
    text: Callable[..., str] = show_as_text
    sentences: Callable[..., tuple[str, ...]] = list_text_alone
    frame: Callable[..., Any] = refuse
    plot: Callable[..., Any] = refuse
    export: Callable[..., None] = refuse
    view: Callable[..., Any] | None = None
    live: Callable[..., Any] | None = None
    pane: PaneId | None = None
    explain: Callable[..., str] = refuse
    numbers: Callable[..., Iterable[Quantity]] = list_no_numbers
    tables: Callable[..., Mapping[str, Table[Any]]] | None = None
    terminal: Callable[..., str] | None = None
    compare: Callable[..., Any] | None = None
    add_times: Callable[..., Any] = refuse_times
    join: Callable[..., Any] = refuse
