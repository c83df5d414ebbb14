"""Pictures of records in the README and the guide, taken anew: `make pictures`.

`-m tests.browser.readme_pictures NAME` takes one of them. `sweep` only so: what it shows is
measured, in a minute on a machine that does nothing else. Of which front end each is stands in
`assets/pictures.json`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

import workbench as wb
from tests.browser.driving import running_chromium
from tests.browser.moving_picture import record_clicks
from tests.browser.panes import show
from workbench.report import Report
from workbench.views.wire.codec import bundle

ROOT = Path(__file__).parents[2]
BLOCK = ROOT / "tests/records/block.wbr"
SCORES = ROOT / "assets/scores_h100.wbr"
VERSIONS = ROOT / "assets/pictures.json"
LARGE, SMALL = (1280, 760), (1180, 640)
PICTURES = {
    "overview": (BLOCK, "pane=overview&sel=L:s0:30", SMALL, "light"),
    "graphs": (BLOCK, "pane=graphs&sel=g7:clone", SMALL, "dark"),
    "kernels": (BLOCK, "pane=kernels&sel=k2&code=", SMALL, "light"),
    "gpu": (SCORES, "pane=kernels&sel=K:k3:67", LARGE, "light"),
}
"""By name: the record, the place in its page, the size, the theme."""


def picture(name: str, browser: Any, folder: Path) -> None:
    """Take one of them."""
    record, place, (width, height), scheme = PICTURES[name]
    address = folder / f"{record.stem}.html"
    Report.load(record).to_html(address)
    size = {"width": width, "height": height}
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    show(page, f"{address.as_uri()}#{place}")
    if name == "gpu":
        page.get_by_role("button", name="SASS").click()
        page.wait_for_timeout(600)
    page.screenshot(path=ROOT / "assets" / f"{name}.png")
    context.close()


class Mlp(torch.nn.Sequential):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256))


def sweep_picture(browser: Any, folder: Path) -> None:
    """Measure a sweep, and take its picture."""
    found = wb.sweep(
        Mlp().eval(),
        lambda batch: (torch.randn(batch, 256),),
        over={"dtype": ["float32", "bfloat16"], "batch": [1, 8, 64, 512]},
        store=str(folder / "sweep.sqlite"),
    )
    found.to_html(folder / "sweep.html")
    size = {"width": SMALL[0], "height": 560}
    context = browser.new_context(viewport=size, color_scheme="light")
    page = context.new_page()
    page.goto((folder / "sweep.html").as_uri())
    page.locator(".wb").wait_for()
    page.wait_for_timeout(500)
    page.screenshot(path=ROOT / "assets" / "sweep.png")
    context.close()


def main(names: list[str]) -> None:
    """Take those named, else all of records."""
    with tempfile.TemporaryDirectory() as folder, running_chromium() as browser:
        for name in names or (*PICTURES, "click"):
            if name == "sweep":
                sweep_picture(browser, Path(folder))
            elif name == "click":
                page_file = Path(folder) / "click.html"
                record_clicks(browser, SCORES, page_file, ROOT / "assets" / "click.webp")
            else:
                picture(name, browser, Path(folder))
            note_version(name)


def note_version(name: str) -> None:
    """Say that a picture is of the front end of now."""
    versions = json.loads(VERSIONS.read_text()) if VERSIONS.exists() else {}
    text = json.dumps({**versions, name: bundle()[1]}, indent=1, sort_keys=True)
    VERSIONS.write_text(f"{text}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
