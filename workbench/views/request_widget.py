"""A widget that answers each request of its front end exactly once."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import anywidget

from workbench.errors import WorkbenchError
from workbench.views.wire import Answer
from workbench.views.wire_codec import pack

_STATIC = files("workbench.views").joinpath("static")


class Answering(anywidget.AnyWidget):
    """The front end with a mailbox: `_answer` makes what is asked for."""

    _esm = _STATIC.joinpath("workbench.js").read_text(encoding="utf-8")
    _css = _STATIC.joinpath("workbench.css").read_text(encoding="utf-8")

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.on_msg(self._on_message)

    def _on_message(self, _: Any, content: Any, buffers: Any) -> None:
        id, ask = content.get("id"), content.get("ask")
        answer: Answer = {"id": id, "ask": ask, "error": None}
        try:
            packed = pack(self._answer(ask, content.get("question")))
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
