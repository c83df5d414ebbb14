"""The port by which records show themselves."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path

import pytest

import workbench as wb
from tests.sample_report import make
from workbench.analysis.diff.report_comparison import compare
from workbench.analysis.gpu_model.matrix import Matrix
from workbench.artifacts.machine.machine_description import Machine
from workbench.artifacts.preflight.check import Check
from workbench.errors import UsageError
from workbench.report import Report
from workbench.report.presenter import FormerTable, Presented, presenter
from workbench.report.requirement_rows import Requirement
from workbench.views.answers import fragments
from workbench.views.charts import report_charts
from workbench.views.kit.shown import Shown
from workbench.views.panes.registry import list_panes
from workbench.views.presenters import find_shown
from workbench.views.tables import data_frames


@dataclass(frozen=True, repr=False)
class Unknown(Presented):
    """A kind that no view knows."""

    name: str
    size: int = 3
    hidden: str = field(default="secret", repr=False)


def test_an_unknown_kind_is_text(tmp_path: Path) -> None:
    record = Unknown("<a>")
    assert repr(record) == "Unknown(name='<a>', size=3)"
    assert record._repr_html_() is None
    assert record._repr_mimebundle_() == {"text/plain": repr(record)}
    page = presenter().page(record, tmp_path / "a.html")
    assert "Unknown(name=&#39;&lt;a&gt;&#39;, size=3)" in page
    assert (tmp_path / "a.html").read_text() == page


def test_an_unknown_kind_says_what_it_lacks() -> None:
    with pytest.raises(UsageError, match="Unknown does not have this table"):
        presenter().frame(Unknown("a"))
    with pytest.raises(UsageError, match="Unknown does not have this table or chart"):
        presenter().plot(Unknown("a"))
    with pytest.raises(NotImplementedError):
        presenter().display(Unknown("a"))


PACKAGE = Path(wb.__file__).parent
SHOWING = sorted(
    ".".join(("workbench", *file.relative_to(PACKAGE).with_suffix("").parts))
    for file in PACKAGE.rglob("*.py")
    if "\nSHOWN = {" in file.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", SHOWING)
def test_each_kind_that_a_file_shows_is_found_and_is_a_document(name: str) -> None:
    shown = import_module(name).SHOWN
    for kind, own in shown.items():
        assert find_shown(type(kind, (), {})()) is own, kind
        aspects = asdict(own)
        assert aspects.pop("pane") in {None, *(pane.id for pane in list_panes())}
        assert all(callable(aspect) for aspect in aspects.values() if aspect is not None), kind
        assert own.document is not None or own.pane is not None, kind


def test_the_files_that_show_a_kind_are_many() -> None:
    assert len(SHOWING) >= 15
    assert find_shown(type("Unheard", (), {})()) == Shown()


def test_a_kind_is_shown_as_what_it_derives_from() -> None:
    @dataclass(frozen=True, repr=False)
    class Own(Check):
        """A check of somebody."""

    assert find_shown(Own("f.aot", Machine(), ())) is fragments.SHOWN["Check"]


def test_a_report_is_a_line_as_a_value_and_a_screen_when_it_is_printed() -> None:
    report = make()
    assert presenter().text(report) == str(report)
    assert str(report).startswith("block (inductor")
    assert "\n" not in repr(report)


def test_a_report_shows_what_its_views_make(tmp_path: Path) -> None:
    report = make()
    assert report.frame("kernels").equals(data_frames.frame(report, "kernels"))
    drawn, again = report.plot("fusion"), report_charts.plot(report, "fusion")
    assert [a.get_title() for a in drawn.axes] == [a.get_title() for a in again.axes]
    assert report.to_html(tmp_path / "a.html") == presenter().page(report, None)
    assert (tmp_path / "a.html").exists()


def test_a_difference_shows_itself_in_both_ways() -> None:
    found = compare(make(), make())
    bundle = found._repr_mimebundle_()
    assert bundle["text/plain"] == repr(found)
    assert bundle["text/html"] == found._repr_html_()
    assert found.sentences[0] == "Only measured times may differ."
    with pytest.raises(NotImplementedError):  # no notebook runs: IPython takes the bundle
        found._ipython_display_()


def test_the_former_name_of_a_table_warns() -> None:
    check = Check("f.aot", Machine(), (Requirement("torch", "pass", "2.13", "2.13"),))
    with pytest.warns(DeprecationWarning, match=r"Check\.table is now \.frame\(\)"):
        assert check.table.equals(check.frame())
    assert isinstance(Check.table, FormerTable)
    assert "next version" in (Check.table.__doc__ or "")


def test_methods_stay_documented() -> None:
    assert "DataFrame" in (wb.Report.frame.__doc__ or "")
    assert Report.frame.__annotations__["return"] == "pandas.DataFrame"


def modules_after(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; import sys; print(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(done.stdout.split())


def test_records_are_read_without_a_view() -> None:
    found = modules_after("from workbench.report import Report; Report()")
    assert {"workbench.report.record", "workbench.report.presenter"} <= found
    heavy = {"pandas", "matplotlib", "numpy", "torch", "anywidget", "workbench.views"}
    assert not heavy & found


def test_the_package_brings_nothing_of_its_own() -> None:
    found = {name for name in modules_after("import workbench") if name.startswith("workbench.")}
    assert found == set()


def test_a_check_is_described_without_pandas() -> None:
    program = (
        "import sys; sys.modules.update(dict.fromkeys(('pandas', 'matplotlib', 'anywidget')));"
        "from workbench.artifacts.machine.machine_description import Machine;"
        "from workbench.report.requirement_rows import Requirement as R;"
        "from workbench.artifacts.preflight.check import Check;"
        "assert 'torch' in Check('f', Machine(), (R('torch', 'pass', '2', '2'),))._repr_html_()"
    )
    assert "workbench.views.answers.fragments" in modules_after(program)


def test_an_argument_by_its_former_name_works_and_warns() -> None:
    matrix = Matrix(Report(), ("h100",))
    with pytest.warns(DeprecationWarning, match="figure= is now metric="):
        frame = matrix.frame(figure="registers")
    assert frame.equals(matrix.frame(metric="registers"))
