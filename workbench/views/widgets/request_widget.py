"""A widget that answers each request of its front end exactly once."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets
from ipywidgets import Widget, widget_serialization

from workbench.errors import WorkbenchError
from workbench.views.widgets.front_end import front_end, live_loader
from workbench.views.wire.codec import bundle_bytes, pack
from workbench.views.wire.document import Answer


class Answering(anywidget.AnyWidget):
    """The front end with a mailbox: `_answer` makes what is asked for.

    What anywidget sends of each view is a small script; the front end is in a model of its own
    that all views share.
    """

    _esm = live_loader()

    front_end = traitlets.Instance(Widget).tag(sync=True, **widget_serialization)

    def __init__(self, **traits: Any) -> None:
        super().__init__(front_end=front_end(), **traits)
        self.on_msg(self._on_message)

    def _on_message(self, _: Any, content: Any, buffers: Any) -> None:
        id, ask = content.get("id"), content.get("ask")
        answer: Answer = {"id": id, "ask": ask, "error": None}
        try:
            is_own = ask == "front-end"  # a host that has no models besides that of the view
            found = self._answer(ask, content.get("question")) if not is_own else None
            packed = bundle_bytes() if is_own else pack(found)
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
