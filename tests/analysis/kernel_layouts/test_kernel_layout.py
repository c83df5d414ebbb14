"""A layout tells who holds an element, as rows and as a picture."""

import pytest

from tests.sample_report import make
from workbench.analysis.kernel_layouts.kernel_layout import Holder, find_layout
from workbench.errors import UsageError
from workbench.report.machine_rows import KernelLayout

BASES = (((0, 1),), ((0, 2), (0, 4), (1, 0)), ((2, 0),), ())
ROW = KernelLayout(
    "k0", 5, "tt.load", (4, 8), "blocked", 2, 8, 2, text="v = tl.load(x)", bases=BASES
)
DOT = KernelLayout("k0", 6, "tt.dot", (4, 8), "matrix units", 2, 8, 2, bases=BASES)
BULK = KernelLayout("k0", 7, "ttng.async_tma_copy", (4, 8), "moved by TMA", 1, 1, 1)
REPORT = make()


def find(line, op=""):
    return find_layout(REPORT, [ROW, DOT, BULK], line, op)


def test_every_element_is_held_once_and_the_bits_of_its_holder_say_where():
    holders = list(find(5).list_holders())

    assert len({holder.element for holder in holders}) == 32
    assert find(5).held_by(3, 5) == [Holder((3, 5), warp=1, lane=6, register=1)]


def test_a_line_is_found_by_its_number_its_text_and_its_operation():
    assert find("tl.load").row == ROW
    assert find(6, "dot").row == DOT


@pytest.mark.parametrize(
    ("line", "op", "words"),
    [
        (9, "", "Line 9 has no layout in registers. Lines with a layout: 5, 6."),
        (7, "", "Line 7 has no layout in registers. Lines with a layout: 5, 6."),
        (5, "dot", "Line 5 has no layout of an operation 'dot' in registers. It has tt.load."),
    ],
)
def test_a_line_without_one_says_which_have(line, op, words):
    with pytest.raises(UsageError) as error:
        find(line, op)
    assert str(error.value) == words


def test_an_element_that_is_none_is_refused():
    with pytest.raises(UsageError, match=r"Element \[4, 0\] is outside the shape \[4, 8\]"):
        find(5).held_by(4, 0)


def test_it_is_a_table_and_a_picture():
    layout = find(5)

    assert list(layout.frame().columns) == ["element", "warp", "lane", "register"]
    assert len(layout.frame()) == 32
    axes = layout.plot(warp=1).axes[0]
    assert axes.get_title(loc="left") == "tt.load, line 5: warp 1 of 2"
    assert {text.get_text() for text in axes.texts} == {str(n) for n in range(8)}
    with pytest.raises(UsageError, match="Warp 2 does not exist"):
        layout.plot(2)


def test_it_says_itself_in_a_line():
    assert repr(find(5)) == "Layout(tt.load, line 5, [4, 8])"
    assert str(find(5)) == (
        "tt.load in line 5: 4 × 8 elements, 2 in each lane of 2 warps of 8 lanes (blocked)."
    )
