from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from workbench.analysis.fusion.fusion import calls
from workbench.analysis.gpu_model.roofline import add_rooflines
from workbench.errors import UsageError
from workbench.report import Report
from workbench.specs import Catalogue
from workbench.views.charts.calls_chart import draw_picture
from workbench.views.kit.sheet import FAINT, INK, KERNEL_COLOURS, PALE
from workbench.views.words.record_words import few_words

RECORDS = Path(__file__).parents[2] / "records"
BLOCK, NORM = (Report.load(RECORDS / f"{name}.wbr") for name in ("block", "norm_h100"))
NAMES = ("phases", "fusion", "traffic", "kernels", "graph")


def words(figure: Figure) -> Iterator[tuple[str, Bbox]]:
    """Every text that is seen, and where."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if text.get_text().strip() and text.get_visible():
            box = text.get_window_extent(canvas.get_renderer())
            if box.width and figure.bbox.overlaps(box):
                yield text.get_text(), box


@pytest.mark.parametrize("name", NAMES)
def test_no_text_is_cut_off_or_printed_over_another(name: str) -> None:
    figure = BLOCK.plot(name)
    seen = list(words(figure))
    assert len(seen) > 5
    page = figure.bbox
    for text, box in seen:
        assert page.x0 - 1 <= box.x0, f"{text!r} is cut off"
        assert box.x1 <= page.x1 + 1, f"{text!r} is cut off"
    for (a, first), (b, second) in combinations(seen, 2):
        inner = Bbox.intersection(first, second)
        assert inner is None or inner.width < 2 or inner.height < 3, f"{a!r} lies over {b!r}"


@pytest.mark.parametrize("name", [*NAMES, "autotune"])
def test_charts_draw_what_the_report_holds(sample_report: Report, name: str) -> None:
    figure = sample_report.plot(name)
    (axes,) = figure.axes
    assert axes.patches
    assert axes.get_title(loc="left")
    assert figure.get_facecolor()[3] == axes.get_facecolor()[3] == 0  # the page's own ground


@pytest.mark.parametrize("ground", ["#ffffff", "#111111"])
def test_ink_and_bars_are_seen_in_a_light_and_in_a_dark_theme(ground: str) -> None:
    low = {
        colour: contrast(colour, ground)
        for colour in (INK, FAINT, PALE, *KERNEL_COLOURS)
        if contrast(colour, ground) < 3  # WCAG 2.2, non-text contrast and large text
    }
    assert low == {}


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.2."""
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_traffic_says_what_fusion_saved() -> None:
    (axes,) = BLOCK.plot("traffic").axes
    assert "34.8 MB → 26.0 MB (−25 % vs. eager)" in axes.get_title(loc="left")


def test_measured_times_go_before_estimates(sample_report: Report) -> None:
    (axes,) = sample_report.plot("kernels").axes
    assert axes.get_title(loc="left") == "Measured time of each kernel"
    assert axes.get_xlabel() == "µs"


def test_without_times_the_bound_of_the_target_ranks_the_kernels() -> None:
    (axes,) = NORM.plot("kernels").axes
    assert axes.get_title(loc="left").startswith("Roofline time of each kernel")


def test_an_unknown_or_empty_chart_is_a_sentence(sample_report: Report) -> None:
    with pytest.raises(UsageError, match=r"Unknown chart 'pie'.*phases"):
        sample_report.plot("pie")
    with pytest.raises(UsageError, match="Nothing to draw for 'phases'"):
        Report().plot("phases")


def test_data_flows_through_nodes_that_have_no_kernel() -> None:
    every = calls(BLOCK)
    names = [call.kernel.id for call in every]
    k6 = every[names.index("k6")]
    assert {names[i] for i in k6.inputs} == {"k4", "k5"}  # topk's values are taken out in between
    assert len(every) > len(BLOCK.kernels)  # k2 has three loops, each a group of its own


def test_the_picture_is_svg_with_a_box_for_each_call() -> None:
    drawn = draw_picture(BLOCK)
    assert drawn is not None
    svg = "{http://www.w3.org/2000/svg}"
    tree = ElementTree.fromstring(drawn)
    boxes = sum(path.attrib["d"].count("z") for path in tree.iter(f"{svg}path"))
    assert boxes == len(list(tree.iter(f"{svg}text"))) == len(calls(BLOCK))
    assert draw_picture(Report()) is None


@pytest.mark.parametrize(
    ("letters", "text"),
    [(40, "add, mul, relu, sum"), (14, "add, mul +2"), (7, "add +3"), (5, "a… +3")],
)
def test_words_are_left_out_whole(letters: int, text: str) -> None:
    assert few_words(["add", "mul", "relu", "sum"], letters) == text


def test_kernels_lie_under_the_roofs_of_their_gpu(sample_report: Report) -> None:
    report = add_rooflines(sample_report, Catalogue.built_in()["h100"])
    figure = report.plot("roofline")
    (axes,) = figure.axes
    assert axes.get_title(loc="left").startswith("Roofline of h100 (estimate)")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    points = [line for line in axes.lines if line.get_marker() == "o"]
    drawn = [row for row in report.roofline if row.intensity]
    measured = [row for row in drawn if row.measured_us]
    assert drawn
    assert len(points) == len(drawn) + len(measured)
    labels = {text.get_text() for text in axes.texts}
    assert any(row.kernel in label for row in drawn for label in labels)
    assert "3.35 TB/s" in labels
    (listed,) = figure.legends
    assert len(listed.get_texts()) == len(report.kernels)


def test_no_label_of_the_roofline_lies_over_another(sample_report: Report) -> None:
    figure = add_rooflines(sample_report, Catalogue.built_in()["h100"]).plot("roofline")
    for (a, first), (b, second) in combinations(words(figure), 2):
        inner = Bbox.intersection(first, second)
        assert inner is None or inner.width < 2 or inner.height < 3, f"{a!r} lies over {b!r}"
