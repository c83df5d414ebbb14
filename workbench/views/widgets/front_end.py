"""The front end as one model that all live views of a kernel share."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import ipywidgets
import traitlets

from workbench.views.wire.codec import bundle, bundle_bytes


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
    return FrontEnd(packed=bundle_bytes())


def live_loader() -> str:
    """The script of each live view, which finds the front end in the page or in that model."""
    text = files("workbench.views.widgets").joinpath("live_loader.js").read_text(encoding="utf-8")
    return text.replace("HASH_OF_BUNDLE", bundle()[1])
