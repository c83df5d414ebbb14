"""A widget that answers each request once, and the front end that all such widgets share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import anywidget
import ipywidgets
import traitlets
from ipywidgets import Widget, widget_serialization

from workbench.errors import UsageError, WorkbenchError
from workbench.typed_data import Misfit, read_value
from workbench.views.kit.live_actions import list_actions
from workbench.views.wire.advice_messages import PatchQuestion
from workbench.views.wire.codec import bundle, pack, read_bundle_bytes
from workbench.views.wire.report_messages import (
    Answer,
    CancelQuestion,
    GuardQuestion,
    RowQuestion,
    RowsQuestion,
)

_QUESTIONS: Mapping[str, type] = {
    "guard-check": GuardQuestion,
    "row": RowQuestion,
    "compare-rows": RowsQuestion,
    "try-patch": PatchQuestion,
    "cancel": CancelQuestion,
}
_MAY_LACK = ("guard-check", "cancel")  # the answer says what to send; what runs is cancelled


class FrontEnd(ipywidgets.Widget):  # type: ignore[misc]
    """The bundle, gzip of JSON (`js`, `css`); it has no view of its own."""

    packed = traitlets.Bytes().tag(sync=True)


def front_end() -> FrontEnd:
    """The one of this process; opened again where somebody closed all widgets."""
    widget = _made()
    if widget.comm is None:
        widget.open()
    return widget


@cache
def _made() -> FrontEnd:
    return FrontEnd(packed=read_bundle_bytes())


def render_live_loader() -> str:
    """The script of each live view, which finds the front end in the page or in that model."""
    text = files("workbench.views.widgets").joinpath("live_loader.js").read_text(encoding="utf-8")
    return text.replace("HASH_OF_BUNDLE", bundle()[1])


class RequestWidget(anywidget.AnyWidget):
    """The front end with a mailbox: `_answer` makes what is asked for.

    What anywidget sends of each view is a small script; the front end is in a model of its own
    that all views share.
    """

    _esm = render_live_loader()

    front_end = traitlets.Instance(Widget).tag(sync=True, **widget_serialization)

    def __init__(self, **traits: Any) -> None:
        super().__init__(front_end=front_end(), **traits)
        self.on_msg(self._on_message)

    def _on_message(self, _: Any, content: Any, buffers: Any) -> None:
        message: Any = content if isinstance(content, Mapping) else {}
        ask = message.get("ask")
        answer: Answer = {"id": message.get("id"), "ask": ask, "error": None}
        try:
            check_message(content)
            is_own = ask == "front-end"  # a host that has no models besides that of the view
            part = self._answer(ask, content.get("question")) if not is_own else None
            packed = read_bundle_bytes() if is_own else pack(part)
        except WorkbenchError as error:
            self.send({**answer, "error": str(error)})
        except Exception as error:  # the front end waits for an answer, whatever went wrong
            why = f"{type(error).__name__}: {error}"
            self.send({**answer, "error": f"The request {ask!r} failed: {why}."})
            raise
        else:
            self.send(answer, [packed])

    def _answer(self, ask: Any, question: Any) -> Any:
        """JSON-ready data; a `WorkbenchError` is told to the reader."""
        raise NotImplementedError


def check_message(content: Any) -> None:
    """Raise `UsageError` for a message that is no request, or lacks what its request needs."""
    if not isinstance(content, Mapping):
        raise UsageError(f"A message is a {type(content).__name__}: expected an object with `ask`.")
    ask = content.get("ask")
    if not isinstance(ask, str):
        raise UsageError(f"A message asks for {ask!r:.80}: expected a name.")
    question = content.get("question")
    action = list_actions().get(ask)
    kind = _QUESTIONS.get(ask) if action is None else action.question
    if kind is None or (question is None and ask in _MAY_LACK):
        return
    try:
        read_value(kind, question)
    except Misfit as error:
        raise UsageError(f"The request {ask!r} is invalid: {error}.") from error
