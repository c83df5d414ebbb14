"""Pictures of every pane, light and dark, wide and narrow: python shots.py FOLDER [FILE.json]."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from page import page, sample
from playwright.sync_api import Page, sync_playwright

PANES = ("overview", "graphs", "breaks", "fusion", "kernels", "timeline", "autotune", "artifact")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def main(folder: Path, embedded: str) -> None:
    """Write the pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "page.html"
    path.write_text(page(embedded), "utf-8")
    with sync_playwright() as tools:
        program = shutil.which("chromium")
        browser = tools.chromium.launch(executable_path=program, args=ARGUMENTS)
        for scheme in ("light", "dark"):
            for width, height in ((1280, 760), (800, 620)):
                view = browser.new_page(
                    viewport={"width": width, "height": height}, color_scheme=scheme
                )
                view.on("console", lambda message: print(message.type, message.text))
                view.on("pageerror", lambda error: print("ERROR", error))
                view.goto(path.as_uri())
                shoot(view, folder, f"{scheme}-{width}")
                view.close()
        browser.close()


CHOSEN = {
    "overview": "document.sources[0]?.marks.find(m => m.kernels.length > 1)?.id",
    "graphs": "document.kernels[0]?.nodes[0]",
    "breaks": "document.breaks[0]?.id ?? document.guards[0]?.id",
    "fusion": "document.rejected[0]?.id",
    "kernels": "document.kernels.find(k => k.code)?.id",
    "timeline": "document.phases[1]?.id",
}


def show(view: Page, pane: str) -> None:
    """Go to a pane, with something selected in it."""
    view.evaluate(
        f"""() => {{
            const document = window.view.store.doc.value, nothing = null;
            window.view.store.select({CHOSEN.get(pane, "nothing")} ?? null, {{ pane: "{pane}" }});
        }}"""
    )
    view.wait_for_timeout(250)


def shoot(view: Page, folder: Path, suffix: str) -> None:
    """One picture of each pane."""
    for pane in PANES:
        show(view, pane)
        view.screenshot(path=folder / f"{pane}-{suffix}.png")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    main(folder, Path(sys.argv[2]).read_text("utf-8") if len(sys.argv) > 2 else sample())
