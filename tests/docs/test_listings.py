"""The listings of the guide run; each question of a newcomer has one command, which runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fresh_process import run_script

from docs.generate import pages

LISTING = re.compile(r"```python\n(.*?)```", re.DOTALL)
(FIRST,) = LISTING.findall(pages.source(pages.HOME).read_text())
BEGINNING, *_ = LISTING.findall(pages.source(pages.WHICH).read_text())
WITH_LISTINGS = [page for page in pages.GUIDE if LISTING.search(pages.source(page).read_text())]
QUESTIONS = {
    title: text
    for title, text in re.findall(
        r"^## (.*?\?)\n(.*?)(?=^## )",
        pages.source(pages.WHICH).read_text(),
        re.DOTALL | re.MULTILINE,
    )
}
SAID = {
    "Why is it slow?": "scaled_dot_product_attention",
    "Why did it recompile?": "Block.forward recompiled 1 time",
    "Why does it not compile?": "no graph break",
    "Will it fit?": "fits",
    "Why is it wrong?": "Verification(ok",
    "How do I ship it?": "",
    "What would an H100 do?": "registers",
}
"""Each question with words of the answer."""


def run(listings: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Run them one after the other, as in one program."""
    monkeypatch.chdir(folder)
    names: dict[str, object] = {"__name__": "listing"}
    for number, listing in enumerate(listings):
        file = folder / f"listing_{number}.py"
        file.write_text(listing)
        exec(compile(listing, str(file), "exec"), names)
    return names


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_LISTINGS)
def test_the_listings_of_a_page_run_after_the_first_one(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = LISTING.findall(pages.source(page).read_text())
    names = run([FIRST, *own], tmp_path, monkeypatch)
    if page == "guide/virtual-gpus.md":
        assert len(names["matrix"].frame()) == 4  # type: ignore[attr-defined]
        assert (tmp_path / "matrix.html").exists()


def test_each_question_has_one_command_and_one_notebook() -> None:
    assert list(QUESTIONS) == list(SAID)
    for text in QUESTIONS.values():
        assert len(LISTING.findall(text)) == 1
        assert len(re.findall(r"\]\(\.\./\.\./notebooks/", text)) == 1


def test_the_shortest_command_answers_its_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    question = "Why does it not compile?"
    run([BEGINNING, *LISTING.findall(QUESTIONS[question])], tmp_path, monkeypatch)
    assert SAID[question] in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_command_of_a_question_answers_it_in_a_program(question: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(BEGINNING + "".join(LISTING.findall(QUESTIONS[question])))
    assert SAID[question] in run_script(tmp_path)
    assert (tmp_path / "block.pt2").exists() == (question == "How do I ship it?")
