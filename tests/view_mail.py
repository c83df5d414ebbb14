"""A live view without a notebook: what it would send is kept."""

from __future__ import annotations

import gzip
import json
from typing import Any

from wire_types import mismatches

from workbench.views.kit.request_widget import RequestWidget
from workbench.views.wire import report_messages as wire


class Mailbox:
    """A view whose messages are kept; `ask` returns the one answer and what it carried."""

    def __init__(self, view: RequestWidget) -> None:
        self.view = view
        self.sent: list[tuple[Any, Any]] = []
        view.send = lambda content, buffers=None: self.sent.append((content, buffers))

    def ask(self, name: str, **rest: Any) -> tuple[wire.Answer, Any]:
        self.view._on_message(self.view, {"id": 7, "ask": name, **rest}, [])
        ((answer, buffers),) = self.sent
        self.sent.clear()
        assert mismatches(answer, wire.Answer) == []
        assert (answer["id"], answer["ask"]) == (7, name)
        return answer, json.loads(gzip.decompress(buffers[0])) if buffers else None
