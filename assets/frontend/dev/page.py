"""A plain page that mounts the bundle on an embedded document, to look at without a notebook."""

from __future__ import annotations

import json
from pathlib import Path

STATIC = Path(__file__).parents[3] / "workbench" / "views" / "static"

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Workbench</title>
<style>body {{ margin: 0 }} .wb {{ --wb-height: 100vh; border: 0 }}</style>
<style>{css}</style></head><body>
<main id="view"></main>
<script type="application/json" id="data">{data}</script>
<script type="module">
{script}
</script></body></html>
"""


def page(embedded: str) -> str:
    """The page for the JSON text of a `wire.Embedded`; the view is `window.view` in it."""
    script = (STATIC / "workbench.js").read_text("utf-8").replace("</script", "<\\/script")
    mount = script.rpartition("export{")[2].partition("}")[0]
    pairs = [part.split(" as ") for part in mount.split(",")]
    names = {shown: inner for inner, shown in pairs}
    start = (
        f"\nconst data = JSON.parse(document.getElementById('data').textContent);"
        f"\nwindow.view = {names['mount']}(document.getElementById('view'), data);"
    )
    return PAGE.format(
        css=(STATIC / "workbench.css").read_text("utf-8"),
        data=embedded.replace("<", "\\u003c"),
        script=script + start,
    )


def sample() -> str:
    """The document that the tests of the front end use."""
    path = Path(__file__).parents[1] / "test" / "sample.json"
    return json.dumps(json.loads(path.read_text("utf-8")))
