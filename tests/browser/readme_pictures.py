"""The README's pictures of records, taken anew: `-m tests.browser.readme_pictures`.

`sweep.png` is left as it is: what it shows is measured, on a machine that does nothing else.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tests.browser.driving import running_chromium
from tests.browser.panes import show
from workbench.report import Report

ROOT = Path(__file__).parents[2]
BLOCK = ROOT / "tests/records/block.wbr"
SCORES = ROOT / "assets/scores_h100.wbr"
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


def main() -> None:
    """Take all of them."""
    with tempfile.TemporaryDirectory() as folder, running_chromium() as browser:
        for name in PICTURES:
            picture(name, browser, Path(folder))


if __name__ == "__main__":
    main()
