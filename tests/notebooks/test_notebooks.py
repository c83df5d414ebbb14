"""The saved notebooks: run in order, small, without a trace of the machine, and linked."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from workbench.views.wire.codec import bundle

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MOST_BYTES = 1_000_000
MACHINE = re.compile(
    r"(?<![\w.~/:-])(?:/(?:home|root|tmp|work|opt|var|mnt|srv|Users|private)/[\w.+-]|[A-Z]:\\\\"
    r"|/usr/(?!include/|lib/gcc/)[\w.+-])"  # headers of g++, of which assembly is inlined
)
PACKED = re.compile(r"H4sI[A-Za-z0-9+/]+=*")  # what a saved view carries: gzip as base64
BUNDLE = re.compile(r'data-bundle="(\w+)"')

pytestmark = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(path: Path) -> list[Any]:
    notebook = nbformat.read(path, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def prose(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def shown(path: Path) -> Iterator[str]:
    """Every text of a notebook, the records that saved views carry included."""
    for cell in nbformat.read(path, as_version=4).cells:
        yield cell.source
        for output in cell.get("outputs", []):
            texts = [output.get("text", ""), *output.get("traceback", [])]
            data = output.get("data", {}).items()
            texts += [str(text) for kind, text in data if not kind.startswith("image/")]
            for text in texts:
                yield PACKED.sub("", text)
                yield from (unpacked(found) for found in PACKED.findall(text))


def unpacked(packed: str) -> str:
    return gzip.decompress(base64.b64decode(packed)).decode()


def test_it_is_valid_and_small(path: Path) -> None:
    nbformat.validate(nbformat.read(path, as_version=4))
    assert path.stat().st_size <= MOST_BYTES


def test_it_keeps_no_state_of_widgets_and_no_times(path: Path) -> None:
    """Each view's state has the whole front end in it: `make notebooks` saves without it."""
    notebook = nbformat.read(path, as_version=4)
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    assert not any("execution" in cell.metadata for cell in notebook.cells)


def test_its_cells_ran_in_order_without_an_error(path: Path) -> None:
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        kinds = {output.output_type for output in cell.outputs}
        assert "error" not in kinds or "NBVAL_RAISES_EXCEPTION" in cell.source, cell.source


def test_it_checks_what_matters_whenever_it_is_run(path: Path) -> None:
    checked = [cell for cell in code_cells(path) if "# NBVAL_CHECK_OUTPUT" in cell.source]
    assert len(checked) >= 2
    assert all(cell.outputs for cell in checked)


def test_nothing_in_it_is_a_path_of_the_machine(path: Path) -> None:
    found = {
        text[max(0, m.start() - 40) : m.end() + 40]
        for text in shown(path)
        for m in MACHINE.finditer(text)
    }
    assert found == set()


def test_it_says_what_one_will_know_and_leads_on(path: Path) -> None:
    first = nbformat.read(path, as_version=4).cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert "minutes" in first.source
    assert re.search(r"^## .*[Yy]our own", prose(path), re.MULTILINE)


def test_its_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", prose(path))
    near = [link.partition("#")[0] for link in links if not link.startswith(("http", "#"))]
    assert near, "it has no link to another notebook"
    assert [link for link in near if not (FOLDER / link).is_file()] == []


def test_one_output_carries_the_front_end_of_its_views(path: Path) -> None:
    """As seen: the view of a cell after outputs that were kept short found none."""
    text = "".join(shown(path))
    views = text.count('class="wb-record"')
    assert text.count('class="wb-bundle"') == (1 if views else 0)


def test_all_views_have_the_front_end_of_now(path: Path) -> None:
    versions = {version for text in shown(path) for version in BUNDLE.findall(text)}
    assert versions <= {bundle()[1]}, "make notebooks"
