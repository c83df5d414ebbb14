"""The four places in which a view is seen; in each of them exactly one of the two outputs is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.browser.axe import COLOURS, serious
from tests.browser.classic import running_classic
from tests.browser.driving import THEME, save_notebook, watched_page
from tests.browser.panes import open_pane

RECORD = Path(__file__).parents[1] / "records" / "block.wbr"
CELLS = (
    "import workbench as wb\nreport = wb.Report.load('block.wbr')",
    "wb.show(report)",
    "wb.show(report)",
)
SEEN = """() => {
    const isSeen = (e) => e.checkVisibility() && e.getBoundingClientRect().height > 0;
    const seen = (name) => [...document.querySelectorAll(name)].filter(isSeen).length;
    const text = [...document.querySelectorAll('.jp-OutputArea-output')]
        .filter(isSeen).map((e) => e.innerText).join('\\n');
    return {
        live: [...document.querySelectorAll('.wb')]
            .filter((e) => !e.closest('.wb-saved') && isSeen(e)).length,
        saved: seen('.wb-saved .wb'),
        summary: seen('.wb-saved .wb-summary'),
        errors: text.split(/Error displaying widget|Loading widget/).length - 1,
    };
}"""
STOP = """async () => {
    const sessions = await (await fetch('/api/sessions')).json();
    for (const session of sessions)
        await fetch('/api/sessions/' + session.id, { method: 'DELETE' });
}"""


def seen(page: Any, **wanted: int) -> None:
    """Wait until exactly these are seen, then look once more: it must stay so."""
    expected = {"live": 0, "saved": 0, "summary": 0, "errors": 0, **wanted}
    script = f"(expected) => JSON.stringify(({SEEN})()) === JSON.stringify(expected)"
    try:
        page.wait_for_function(script, arg=expected, timeout=15_000)
    except Exception:
        assert page.evaluate(SEEN) == expected
    page.wait_for_timeout(1_500)
    assert page.evaluate(SEEN) == expected


def of_ours(errors: list[str]) -> list[str]:
    """Without what the widget manager and nbconvert say of themselves."""
    others = ("widget model not found", "ERR_FAILED", "ERR_INTERNET_DISCONNECTED", "is not defined")
    return [error for error in errors if not any(other in error for other in others)]


@pytest.fixture(scope="module")
def ran(lab: Any) -> str:
    """The name of a notebook that shows one report twice."""
    shutil.copy(RECORD, lab.folder)
    lab.write("views.ipynb", *CELLS)
    return "views.ipynb"


@pytest.fixture(scope="module")
def live(lab: Any, ran: str, chromium: Any) -> Any:
    """A page in which it was run."""
    watched = watched_page(chromium.new_context(viewport={"width": 1280, "height": 900}))
    lab.open(watched, ran)
    watched.page.wait_for_selector(".wb")
    return watched


@pytest.fixture(scope="module")
def saved(lab: Any, ran: str, live: Any) -> Path:
    """The same after it was saved, and its kernel stopped; the page is gone."""
    save_notebook(live.page)
    live.page.evaluate(STOP)
    live.page.context.close()
    return Path(lab.folder) / ran


def test_live_only_the_live_view_is_seen(live: Any) -> None:
    watched, page = live, live.page
    seen(page, live=2)
    view = page.locator(".wb").first
    open_pane(view, "Fusion")
    view.get_by_text("In program order").first.wait_for()
    assert of_ours(watched.errors) == watched.requests == []
    save_notebook(page)
    page.reload()  # the kernel goes on
    page.wait_for_selector(".wb")
    seen(page, live=2)


def test_saved_and_trusted_the_static_view_is_seen_and_works(
    lab: Any, saved: Path, open_page: Callable[..., Any]
) -> None:
    watched = open_page()
    lab.open(watched, saved.name, run=False)
    page = watched.page
    page.wait_for_selector(".wb-saved .wb")
    seen(page, saved=2)
    view = page.locator(".wb-saved .wb").first
    assert "26.0 MB moved by 16 kernels" in view.inner_text()
    open_pane(view, "Fusion")
    view.get_by_text("In program order").first.wait_for()
    assert of_ours(watched.errors) == watched.requests == []
    page.evaluate(STOP)


def test_saved_and_untrusted_the_summary_can_be_read(
    lab: Any, saved: Path, open_page: Callable[..., Any]
) -> None:
    notebook = nbformat.read(saved, as_version=4)
    notebook.cells[0].source += "  # written by somebody else"
    nbformat.write(notebook, Path(lab.folder) / "strange.ipynb")
    watched = open_page()
    lab.open(watched, "strange.ipynb", run=False)
    page = watched.page
    output = page.locator(".jp-RenderedHTML").first
    output.wait_for()
    assert page.locator(".wb").count() == page.locator("script.wb-record").count() == 0
    assert "Error displaying widget" not in page.locator(".jp-Notebook").inner_text()
    assert "26.0 MB moved by 16 kernels" in output.inner_text()
    assert output.locator("pre").count() > 4
    output.locator("summary", has_text="Graphs").click()
    image = output.locator("img").first
    assert image.evaluate("(e) => e.complete && e.naturalWidth > 100")
    assert of_ours(watched.errors) == watched.requests == []
    page.evaluate(STOP)


def test_converted_to_html_the_static_view_works_offline(
    saved: Path, tmp_path: Path, open_page: Callable[..., Any]
) -> None:
    from nbconvert import HTMLExporter

    page_text, _ = HTMLExporter().from_filename(str(saved))
    path = tmp_path / "views.html"
    path.write_text(page_text, encoding="utf-8")
    watched = open_page()
    page = watched.page
    page.route("http://**/*", lambda route: route.abort())
    page.route("https://**/*", lambda route: route.abort())
    page.goto(path.as_uri())
    page.wait_for_selector(".wb-saved .wb")
    seen(page, saved=2)
    open_pane(page.locator(".wb-saved .wb").first, "Graphs")
    assert of_ours(watched.errors) == []


def test_the_front_end_is_saved_once_and_outputs_stay_small(saved: Path) -> None:
    outputs = [cell.outputs for cell in nbformat.read(saved, as_version=4).cells[1:]]
    kinds = [[sorted(output.data) for output in of_cell] for of_cell in outputs]
    one = ["application/vnd.jupyter.widget-view+json", "text/plain"]
    assert kinds == [[one, ["text/html", "text/plain"]]] * 2
    assert all(of_cell[0].data["text/plain"] == "" for of_cell in outputs)
    first, second = (of_cell[1].data["text/html"] for of_cell in outputs)
    assert 'wb-bundle" data-hash' in first
    assert 'wb-bundle" data-hash' not in second
    assert len(json.dumps(second)) < 300_000


@pytest.fixture(scope="module")
def classic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("notebook")
    folder, home = (tmp_path_factory.mktemp(name) for name in ("notebooks", "home"))
    with running_classic(folder, home) as classic:
        shutil.copy(RECORD, folder)
        classic.write("views.ipynb", *CELLS[:2])
        yield classic


@pytest.mark.slow
def test_nothing_serious_in_a_live_view_in_notebook_7(
    classic: Any, open_page: Callable[..., Any]
) -> None:
    watched = open_page()
    classic.open(watched, "views.ipynb")
    assert_not_serious(watched.page, ".jp-OutputArea .wb:not(.wb-saved .wb)")


@pytest.mark.slow
def test_nothing_serious_in_a_saved_view(
    lab: Any, saved: Path, open_page: Callable[..., Any]
) -> None:
    watched = open_page()
    lab.open(watched, saved.name, run=False)
    assert_not_serious(watched.page, ".wb-saved .wb")
    watched.page.evaluate(STOP)


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_in_converted_html(
    saved: Path, tmp_path: Path, open_page: Callable[..., Any], theme: str
) -> None:
    from nbconvert import HTMLExporter

    page_text, _ = HTMLExporter(theme=theme).from_filename(str(saved))
    path = tmp_path / "views.html"
    path.write_text(page_text, encoding="utf-8")
    page = open_page().page
    page.route("http*://**/*", lambda route: route.abort())
    page.goto(path.as_uri())
    page.locator(f".wb-saved .wb[data-theme={theme}]").first.wait_for()
    assert serious(page, ".wb-saved .wb") == []


def assert_not_serious(page: Any, view: str) -> None:
    """All rules of axe-core in the light theme of Jupyter, those of colours in the dark one."""
    for theme, rules in (("light", None), ("dark", COLOURS)):
        page.evaluate(THEME, f"JupyterLab {theme.title()}")
        page.locator(f"{view}[data-theme={theme}]").first.wait_for()
        assert serious(page, view, rules=rules) == []
