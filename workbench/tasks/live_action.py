"""What a live view can start where a call is alive, as data: the view knows how to show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.worlds.world import collect

if TYPE_CHECKING:
    from workbench.tasks.background_task import BackgroundTask


@dataclass(frozen=True)
class LiveAction:
    """One thing to start in the background, by the id that the front end asks for it with.

    `start` takes what the view's table of actions reads from the question, and raises `UsageError`
    for what cannot be started. `why_not` says why nothing can be, None where something can;
    `choices` are the names that may be asked for, such as targets. `cost` says what it takes, in a
    sentence.
    """

    id: str
    start: Callable[..., BackgroundTask[Any]]
    why_not: str | None = None
    choices: tuple[str, ...] = ()
    cost: str = ""


def add_starters(own: tuple[LiveAction, ...], handle: Any) -> tuple[LiveAction, ...]:
    """The actions of a handle with those that worlds offer for it."""
    ids = [action.id for action in own]
    more = collect(
        lambda world: world.list_starters(handle),
        LiveAction,
        "live action",
        ids,
        lambda action: action.id,
    )
    return (*own, *more)
