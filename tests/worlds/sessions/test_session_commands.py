"""The commands read, print and compare sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line.test_commands import STATIC, in_json
from tests.worlds.sessions.rows.sample import session
from workbench.command_line.main import main
from workbench.worlds.sessions.rows.session_record import Session, make_empty_tables


def test_a_session_is_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "run.wbs")
    session().save(path)
    found = in_json(capsys, "report", path)
    assert {one["name"]: one["value"] for one in found["quantities"]}["recompiles"] == 1
    assert "kernels" not in found
    assert main(["diff", path, path]) == 0
    assert main(["diff", path, str(STATIC)]) == 2
    assert main(["report", path]) == 0
    assert "- Net.forward recompiled 1 time" in capsys.readouterr().out
    assert main(["inspect", path]) == 2
    assert "is a report, not an artifact. Open it with wb.Session" in capsys.readouterr().err
    other = str(tmp_path / "empty.wbs")
    Session(session().header, make_empty_tables(), {}).save(other)
    found = in_json(capsys, "diff", path, other)
    assert found["sentences"][:2] == ["compiles: 3 → 0", "recompiles: 1 → 0"]
    assert "gone: break of Net.forward (train.py:14): print(y)" in found["sentences"]
