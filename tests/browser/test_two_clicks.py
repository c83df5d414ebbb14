"""What a user asks first is at most two clicks from the Overview.

What a change brought is in `test_advice.py` (open it, try it), the page for a colleague in
`test_live.py` (one button).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from tests.browser.panes import open_pane, show
from workbench.report import Report

RECORDS = Path(__file__).parents[1] / "records"
SEEN = [(900, "dark"), (1280, "light"), (1600, "dark")]
OTHERS = [(900, "light"), (1280, "dark"), (1600, "light")]


@pytest.fixture(
    params=[*SEEN, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)], ids=str
)
def page(
    request: pytest.FixtureRequest,
    open_page: Callable[..., Any],
    sample_report: Report,
    tmp_path: Path,
) -> Any:
    width, scheme = request.param
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    watched = open_page(width=width, scheme=scheme)
    show(watched.page, f"{path.as_uri()}#pane=overview")
    yield watched.page
    assert watched.errors == watched.requests == []


def test_which_line_costs_most(page: Any) -> None:
    page.locator(".pane").focus()
    page.keyboard.press("i")
    page.locator(".insp section", has_text="Costs most").locator(".chip").first.click()
    assert "line 13" in page.locator(".status .path").inner_text()
    page.locator(".insp").get_by_text("182 µs").first.wait_for()


def test_why_is_this_kernel_slow(page: Any) -> None:
    open_pane(page, "Kernels")
    page.locator(".tbody .tr").first.click()
    inspector = page.locator(".insp")
    inspector.get_by_text("182 µs").first.wait_for()
    inspector.get_by_text("Bound by memory, at least 1.25 µs (model).").wait_for()


def test_what_to_change_first(page: Any) -> None:
    advice = page.get_by_role("group", name="What to change")
    advice.get_by_role("button", name="Choose with torch.where").click()
    assert "+ h = torch.where(" in " ".join(advice.locator("pre").inner_text().split())


def test_the_rewrite_of_a_break_stands_above_torchs_words(page: Any) -> None:
    open_pane(page, "Breaks & guards")
    card = page.locator("article", has_text="torch.where").first
    box = card.locator("pre", has_text="torch.where").first.bounding_box()
    assert box["y"] + box["height"] <= 900
    words = card.get_by_text("torch's explanation")
    assert words.bounding_box()["y"] > box["y"]
    assert not card.get_by_text("What to do").is_visible()
    words.click()


class Reader:
    """A stranger to a record, at 1280 × 800: clicks are counted, and nothing is scrolled to."""

    def __init__(self, page: Any):
        self.page, self.clicks = page, 0

    def click(self, what: Any, **how: Any) -> None:
        """Click on what is in the window."""
        self._see(what)
        what.click(**how)
        self.clicks += 1

    def read(self, what: Any) -> str:
        """The words of what is in the window, with at most two clicks behind it."""
        what.wait_for()
        self._see(what)
        assert self.clicks <= 2
        return str(what.inner_text())

    def _see(self, what: Any) -> None:
        what.wait_for()
        box = what.bounding_box()
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= 1280
        assert box["y"] + box["height"] <= 800
        assert self.page.evaluate("scrollX + scrollY") == 0


@pytest.fixture
def reader(open_page: Callable[..., Any], tmp_path: Path) -> Callable[[Any], Reader]:
    def open_(record: Any) -> Reader:
        path = tmp_path / "record.html"
        record.to_html(path)
        page = open_page(width=1280).page
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(path.as_uri())
        page.get_by_role("tab").first.wait_for()
        return Reader(page)

    return open_


Open = Callable[[Any], Reader]


def test_the_costliest_line_and_why(reader: Open) -> None:
    own = reader(Report.load(RECORDS / "convolutions.wbr"))
    sentence = own.read(own.page.locator(".answer > p").first)
    assert "Nearly all of it is line 45, self.out(F.avg_pool2d(self.down(x), 2))" in sentence
    own.click(own.page.get_by_role("button", name="line 45").first)
    why = own.read(own.page.locator(".insp section", has_text="Costs").first)
    assert "2.85 MB, 98 % of all kernels" in why
    what = own.read(own.page.locator(".insp section", has_text="Why").first)
    assert ", the costliest k" in what


class Counts(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += 1
        return x * self.seen


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def record(function: Any, *inputs: torch.Tensor, capture: Any = "light") -> wb.Session:
    torch._dynamo.reset()
    call = torch.compile(function, backend="eager")
    with wb.session(capture=capture) as session:
        for each in inputs:
            call(each)
    torch._dynamo.reset()
    return session


def test_why_it_was_compiled_again_by_shape(reader: Open) -> None:
    own = reader(record(doubled, torch.ones(4), torch.ones(6)))
    assert own.page.get_by_role("tab").first.inner_text().startswith("What to change")
    own.click(own.page.get_by_role("tab", name="What to change"))
    sentence = own.read(own.page.locator(".ses-advice p").first)
    assert "doubled recompiled 1 time" in sentence
    assert "because x.size()[0] was 6, not 4 (test_two_clicks.py:" in sentence
    patch = own.read(own.page.locator(".proposed").first)
    assert "dynamic=True" in patch or "torch._dynamo.maybe_mark_dynamic(x, 0)" in patch


def test_why_it_was_compiled_again_by_state(reader: Open) -> None:
    own = reader(record(Counts(), *(torch.ones(3) for _ in range(4))))
    own.click(own.page.get_by_role("tab", name="What to change"))
    sentence = own.read(own.page.locator(".ses-advice p").first)
    assert "in order 0 → 1 → 2 → 3; self.seen += 1 changes it (test_two_clicks.py:" in sentence
    assert "self.register_buffer('seen'" in own.read(own.page.locator(".proposed").first)


def test_an_opened_recompile_says_first_why_it_was_compiled_again(reader: Open) -> None:
    by_state = record(Counts(), *(torch.ones(3) for _ in range(2)), capture="full").report(1)
    own = reader(by_state)
    sentence = own.read(own.page.locator(".answer > p").first)
    assert sentence.startswith("Recompiled because self.seen was 1, not 0: self.seen += 1 ")
    own.click(own.page.locator(".answer > p").get_by_role("button", name="line ").first)
    assert "self.seen += 1" in own.read(
        own.page.locator(".insp").get_by_text("self.seen += 1").first
    )
    by_shape = record(doubled, torch.ones(4), torch.ones(6), capture="full").report(1)
    own = reader(by_shape)
    sentence = own.read(own.page.locator(".answer > p").first)
    assert sentence.startswith("Recompiled because x.size()[0] was 6, not 4; called by ")


def test_why_two_lines_are_not_fused(reader: Open) -> None:
    own = reader(Report.load(RECORDS / "convolutions.wbr"))
    lines = own.page.locator(".crow.is-line")
    own.click(lines.nth(1).locator(".src, .t").first)
    own.click(lines.nth(2).locator(".src, .t").first, modifiers=["Control"])
    said = own.read(own.page.get_by_role("group", name="Why not fused"))
    assert "Why are record_convolutions.py:30 and record_convolutions.py:31 not fused?" in said
    assert "k3 is a library call (convolution): it reads and writes whole tensors" in said
    assert "No known change would fuse them." in said


def test_what_makes_the_peak_on_the_host(reader: Open) -> None:
    own = reader(Report.load(RECORDS / "convolutions.wbr"))
    own.click(own.page.get_by_role("button", name="Peak 408 kB"))
    sentence = own.read(own.page.get_by_role("tabpanel").get_by_text("are live at the peak"))
    sentence += own.read(own.page.locator(".memory-note"))
    assert "The largest part of that is convolution of line 31" in sentence
    assert "Without it, the peak would be 112 kB lower" in sentence


def test_what_makes_the_peak_on_a_gpu(reader: Open) -> None:
    own = reader(Report.load(RECORDS / "norm_h100.wbr"))
    own.click(own.page.get_by_role("button", name="Peak 524 kB"))
    sentence = own.read(own.page.get_by_role("tabpanel").get_by_text("are live at the peak"))
    sentence += own.read(own.page.locator(".memory-note"))
    assert "At least 524 kB are live at the peak (at " in sentence
    assert "262 kB of it above weights and inputs" in sentence
    assert "The largest part of that is buf0 (output), with 262 kB" in sentence


@pytest.mark.parametrize(
    ("machine", "answer"),
    [
        (None, "f.aot: can be loaded on a machine with python "),
        ({"torch": "1.0"}, "f.aot: cannot be loaded on a machine with torch 1.0, no GPU"),
    ],
)
def test_will_it_load_there(
    open_page: Callable[..., Any], tmp_path: Path, machine: Any, answer: str
) -> None:
    compiled = wb.aot_compile(doubled, (torch.ones(8),), backend="eager")
    compiled.save(tmp_path / "f.aot")
    (tmp_path / "check.html").write_text(wb.check(tmp_path / "f.aot", machine)._repr_html_())
    page = open_page(width=1280).page
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto((tmp_path / "check.html").as_uri())
    assert answer in Reader(page).read(page.get_by_text("be loaded on").first)
