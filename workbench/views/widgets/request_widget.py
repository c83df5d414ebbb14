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

from workbench.errors import WorkbenchError
from workbench.views.widgets.questions import check_message
from workbench.views.wire.codec import bundle, pack, read_bundle_bytes
from workbench.views.wire.report_messages import Answer


class FrontEnd(ipywidgets.Widget):  # type: ignore[misc]
    """The bundle, gzip of JSON (`js`, `css`); it has no view of its own."""

    packed = traitlets.Bytes().tag(sync=True)


def front_end() -> FrontEnd:
    """The one of this process; opened again where somebody closed all widgets."""
    found = _made()
    if found.comm is None:
        found.open()
    return found


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
        known: Any = content if isinstance(content, Mapping) else {}
        ask = known.get("ask")
        answer: Answer = {"id": known.get("id"), "ask": ask, "error": None}
        try:
            check_message(content)
            is_own = ask == "front-end"  # a host that has no models besides that of the view
            found = self._answer(ask, content.get("question")) if not is_own else None
            packed = read_bundle_bytes() if is_own else pack(found)
        except WorkbenchError as error:
            self.send({**answer, "error": str(error)})
        except Exception as error:  # the front end waits for an answer, whatever went wrong
            why = f"{type(error).__name__}: {error}"
            self.send({**answer, "error": f"The answer to {ask!r} could not be made: {why}."})
            raise
        else:
            self.send(answer, [packed])

    def _answer(self, ask: Any, question: Any) -> Any:
        """JSON-ready data; a `WorkbenchError` is told to the reader."""
        raise NotImplementedError
