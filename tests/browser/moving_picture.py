"""The README's moving picture: clicks in the view of a record, and what lights up at each.

Frames are screenshots of the page of the record in Chromium. Its headless form draws no pointer, so
one is drawn into the page.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from tests.browser.panes import show
from workbench.report import Report

SIZE = {"width": 1120, "height": 600}
LOOK_MS, AIM_MS = 2200, 700
"""How long the picture rests on what lit up, and on the pointer before it clicks."""
_POINTER = """([x, y, pressed]) => {
    let pointer = document.getElementById('pointer');
    if (!pointer) {
        pointer = document.createElement('div');
        pointer.id = 'pointer';
        pointer.style = 'position:fixed;z-index:99999;pointer-events:none';
        document.body.append(pointer);
    }
    pointer.style.left = x + 'px';
    pointer.style.top = y + 'px';
    const ring = pressed ? '<circle cx="13" cy="13" r="11" fill="none" stroke="#d9480f" '
        + 'stroke-width="3"/>' : '';
    pointer.innerHTML = '<svg width="40" height="44" viewBox="0 0 40 44" '
        + 'style="margin:-13px 0 0 -13px">' + ring
        + '<path d="M13 13v20l5-5 4 8 4-2-4-8h7z" fill="#111" stroke="#fff" '
        + 'stroke-width="1.5"/></svg>';
}"""


def record_clicks(browser: Any, record: Path, page_file: Path, picture: Path) -> None:
    """Click through the view of a record in the light theme, and write the picture."""
    Report.load(record).to_html(page_file)
    context = browser.new_context(viewport=SIZE, color_scheme="light")
    page = context.new_page()
    show(page, f"{page_file.as_uri()}#pane=overview")
    frames = list(_frames(page))
    context.close()
    images = [Image.open(io.BytesIO(frame)).convert("RGB") for frame, _ in frames]
    first, *others = images
    first.save(
        picture,
        save_all=True,
        append_images=others,
        duration=[duration for _, duration in frames],
        loop=0,
        lossless=True,
        method=6,
    )


def _frames(page: Any) -> Iterator[tuple[bytes, int]]:
    """Each picture with how long it is seen: at rest, then two for each click."""
    page.mouse.move(5, 5)
    yield page.screenshot(), AIM_MS
    yield from _click(page, page.locator(".crow").get_by_text("softmax").first)
    yield from _click(page, page.locator(".insp").get_by_text("k3", exact=True))
    yield from _click(page, page.get_by_role("button", name="Open its code"))
    yield from _click(page, page.locator(".kernels").get_by_role("button", name="SASS"))
    for stage, words in (("Triton", "libdevice.exp"), ("SASS", "MUFU.EX2"), ("Python", "softmax")):
        yield from _click(page, _line(page, stage, words))


def _line(page: Any, stage: str, words: str) -> Any:
    """A line of a column, which has only those lines that are seen."""
    column = page.locator(f'.code-column[aria-label="{stage}"]')
    line = column.locator(".cm-line", has_text=words).first
    for place in range(0, 20_000, 150):
        if line.count():
            break
        column.locator(".cm-scroller").evaluate("(at, place) => { at.scrollTop = place }", place)
        page.wait_for_timeout(60)
    line.evaluate("line => line.scrollIntoView({ block: 'center' })")
    column.locator(".cm-scroller").evaluate("at => { at.scrollLeft = 0 }")  # long lines move it
    page.wait_for_timeout(100)
    return line


def _click(page: Any, target: Any) -> Iterator[tuple[bytes, int]]:
    target.scroll_into_view_if_needed()
    box = target.bounding_box()
    x, y = box["x"] + min(box["width"] / 2, 90), box["y"] + box["height"] / 2
    page.evaluate(_POINTER, [x, y, False])
    yield page.screenshot(), AIM_MS
    page.evaluate(_POINTER, [x, y, True])
    page.mouse.click(x, y)
    page.mouse.move(x, y)
    page.wait_for_timeout(900)  # columns scroll to what belongs together
    yield page.screenshot(), LOOK_MS
