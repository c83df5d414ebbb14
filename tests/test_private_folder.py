import os
import stat

import pytest

from workbench.errors import WorkbenchError
from workbench.temporary import make_private_folder


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_is_for_its_owner_alone(tmp_path):
    assert mode(make_private_folder(tmp_path / "a" / "b")) == 0o700


def test_an_open_folder_is_closed(tmp_path):
    (tmp_path / "open").mkdir(mode=0o755)
    assert mode(make_private_folder(tmp_path / "open")) == 0o700


def test_a_link_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkbenchError, match=r"is a link.*AOT_WORKBENCH_CACHE"):
        make_private_folder(tmp_path / "link")


def test_somebody_elses_folder_is_refused(tmp_path, monkeypatch):
    (tmp_path / "theirs").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: 4321)
    with pytest.raises(WorkbenchError, match="belongs to user"):
        make_private_folder(tmp_path / "theirs")
