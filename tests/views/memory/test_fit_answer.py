"""Whether a model fits, as text and as a page: parts once and for each layer, layers as one."""

from __future__ import annotations

import re
from base64 import b64decode
from html import unescape
from pathlib import Path

import pytest

import workbench as wb
from workbench.analysis.layers.fit import MISSING_OF_STEP, Depth, Fit, read_depth
from workbench.analysis.memory.memory import memory
from workbench.report import Report

LAYERS = Report.load(Path(__file__).parents[2] / "records" / "layers.wbr")


@pytest.fixture(scope="module")
def fit() -> Fit:
    """A step of 32 layers, by one of four that was recorded and one of two with half of it."""
    whole = read_depth(memory(LAYERS), 4, 4000, 0.0)
    kinds = {kind: [size // 2 for size in sizes] for kind, sizes in whole.kinds.items()}
    half = Depth(2, kinds, whole.steps, whole.backward, 2000, whole.saved // 2, 0.0)
    name, of = "H100 SXM5 80 GB", "adamw (float32)"
    return Fit("Model", name, 10**6, 32, True, of, (2, 24), (half, whole), MISSING_OF_STEP)


def words(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", html))


def test_each_part_is_split_into_once_and_each_layer(fit: Fit) -> None:
    for row in fit.parts:
        assert row.once is not None
        assert row.each_layer is not None
        assert row.bytes == pytest.approx(row.once + 32 * row.each_layer, abs=32)
    (state,) = [row for row in fit.parts if row.part == "optimizer"]
    assert (state.bytes, state.once, state.each_layer) == (32_000, 0, 1000)
    assert re.search(r"\n  optimizer +32\.0 kB +\d+ % +0 B +1\.00 kB\n +arithmetic", repr(fit))
    assert fit.sentence in repr(fit)


def test_the_layers_are_one_row_and_the_one_that_makes_the_peak_is_opened(fit: Fit) -> None:
    rows = fit.frame("modules")
    (equal,) = rows[rows.times > 1].itertuples()
    (peak,) = rows[rows.makes_peak & rows.part_of.isna()].itertuples()
    assert (equal.module, equal.times, peak.module) == ("layers.*", 31, "layers.3")
    html = words(fit._repr_html_() or "")
    assert "× 31" in html
    assert "at the peak" in html
    assert fit.sentence in html
    assert MISSING_OF_STEP in html
    with pytest.raises(wb.UsageError, match="'parts' or 'modules'"):
        fit.frame("all")


def test_the_picture_has_the_parts_and_the_capacity(fit: Fit) -> None:
    found = re.search(r"base64,([\w+/=]+)", fit._repr_html_() or "")
    assert found is not None
    picture = b64decode(found[1]).decode()
    assert picture.count("<rect") == len(fit.parts) + 1
    assert "capacity 1.00 MB" in picture
    assert len(fit.plot().axes[0].patches) == len(fit.parts)


def test_a_notebook_shows_it_and_a_page_keeps_it(fit: Fit, tmp_path: Path) -> None:
    assert wb.show(fit) is fit
    fit.to_html(tmp_path / "fit.html")
    assert fit.sentence in words((tmp_path / "fit.html").read_text(encoding="utf-8"))
