"""Pages and scripts that the view is measured with: the built front end on reports of any size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.report import Report
from workbench.views.document import document
from workbench.views.pages.packed_report import embedded
from workbench.views.static_html.render import add_script
from workbench.views.wire.codec import SMALL, pack

PAINTED = """() => {
    const canvas = document.querySelector('.graph canvas');
    if (!canvas || !canvas.width) return false;
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const first = pixels.slice(0, 4).join();
    for (let i = 0; i < pixels.length; i += 4 * 37)
        if (pixels.slice(i, i + 4).join() !== first) return true;
    return false;
}"""
"""Whether the graph's canvas shows anything but its ground."""

UNTIL = """([selector, ready]) => new Promise((done, failed) => {
    const test = eval(ready), start = performance.now();
    document.querySelector(selector).click();
    (function look() {
        if (test()) requestAnimationFrame(() => done(performance.now() - start));
        else if (performance.now() - start > 60000) failed(new Error('nothing was drawn in 60 s'));
        else setTimeout(look, 4);
    })();
})"""
"""Milliseconds from a click to the frame after a condition holds."""

MOVE = """(kind) => new Promise((done) => {
    const canvas = document.querySelector('.graph canvas'), box = canvas.getBoundingClientRect();
    const x = box.left + box.width / 2, y = box.top + box.height / 2, gaps = [];
    const send = (type, more) => canvas.dispatchEvent(new PointerEvent(type, {
        bubbles: true, pointerId: 1, isPrimary: true, button: 0, buttons: 1, ...more }));
    let last = performance.now(), n = 0;
    if (kind === 'pan') send('pointerdown', { clientX: x, clientY: y });
    (function frame() {
        const now = performance.now();
        if (n > 3) gaps.push(now - last);
        last = now;
        const way = n % 60 < 30 ? 1 : -1;
        if (kind === 'pan')
            send('pointermove', { clientX: x + 6 * (n % 60) * way, clientY: y + 4 * n % 90 });
        else canvas.dispatchEvent(new WheelEvent('wheel', {
            bubbles: true, cancelable: true, clientX: x, clientY: y, deltaY: 40 * way }));
        if (++n < 124) requestAnimationFrame(frame);
        else { if (kind === 'pan') send('pointerup', { clientX: x, clientY: y }); done(gaps); }
    })();
})"""
"""The gaps between 120 frames while the graph is dragged or zoomed, in milliseconds."""


def whole_page(report: Report, path: Path) -> Path:
    """A page with every part of a report, however big."""
    record = pack(embedded(report, document(report), "full", 1 << 40), SMALL)
    body = add_script("", record, kind="page", carries_bundle=True)
    path.write_text(f'<!doctype html><meta charset="utf-8"><body>{body}', encoding="utf-8")
    return path


def open_page(browser: Any, path: Path) -> Any:
    """The page, ready: its tabs are there."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(90_000)
    page.goto(path.as_uri())
    page.wait_for_selector("[role=tab]")
    return page
