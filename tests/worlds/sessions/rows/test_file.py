"""The file of a session: written, read, refused where it is damaged."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from later_words import change_words, list_text_columns

from tests.test_plain_data import DEEP, DEEP_OBJECTS
from tests.worlds.sessions.rows.sample import session
from workbench.errors import ArtifactError
from workbench.views.presenters import VIEWS
from workbench.worlds.sessions.rows.session_record import Session


def test_what_was_saved_is_what_is_read(tmp_path: Path) -> None:
    before = session()
    before.save(tmp_path / "run.wbs")
    after = Session.load(tmp_path / "run.wbs")
    assert after.header == before.header
    assert {name: list(table) for name, table in after.tables.items()} == {
        name: list(table) for name, table in before.tables.items()
    }
    assert list(after.reports) == [0]
    assert repr(after.report("0/0")) == repr(before.report("0/0"))


@pytest.mark.parametrize("deep", [DEEP, DEEP_OBJECTS, b"[" * 700 + b"]" * 700])
def test_what_nests_too_deeply_is_one_sentence(deep: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "s.wbs", "w") as archive:
        archive.writestr("session.json", deep)
    with pytest.raises(ArtifactError) as caught:
        Session.load(tmp_path / "s.wbs")
    assert "\n" not in str(caught.value)


def test_a_report_of_two_compiles_is_written_once(tmp_path: Path) -> None:
    before = session()
    report = before.report(0)
    shared = Session(before.header, before.tables, {0: report, 1: report, 2: before.report(0)})
    shared.save(tmp_path / "run.wbs")
    after = Session.load(tmp_path / "run.wbs")
    assert list(after.reports) == [0, 1, 2]
    assert after.reports[0] is after.reports[1] is after.reports[2]
    with zipfile.ZipFile(tmp_path / "run.wbs") as archive:
        assert archive.namelist() == ["session.json", "compiles/0.wbr"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-30],
        lambda content: b"",
        lambda content: b"not a zip",
        lambda content: content.replace(b"session.json", b"another.json"),
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "run.wbs"
    session().save(path)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(ArtifactError, match=r"run\.wbs is damaged or not a session"):
        Session.load(path)


def test_a_newer_schema_says_to_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "run.wbs"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("session.json", json.dumps({"schema": 99, "header": {}, "tables": {}}))
    with pytest.raises(ArtifactError, match=r"has schema 99.*Upgrade"):
        Session.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"Cannot open the session .*none\.wbs"):
        Session.load(tmp_path / "none.wbs")


def test_a_session_opens_with_words_of_a_later_release() -> None:
    known = session()
    for name, table in known.tables.items():
        for column in list_text_columns(table.row_type) if len(table) else ():
            changed = {**known.tables, name: change_words(table, [column], range(len(table)))}
            VIEWS.page(Session(known.header, changed, known.reports), None)
