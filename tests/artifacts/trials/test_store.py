from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from workbench.artifacts.trials.store import Store
from workbench.errors import ArtifactError, UsageError
from workbench.report.trials import Trial

SETTINGS = (("mode", "default"), ("batch", "8"))


def trial(key: str = "k1", **more: object) -> Trial:
    return Trial(key, SETTINGS, call_us=12.5, samples_us=((12.0, 13.0), (20.0, 21.0)), **more)


def test_a_kept_trial_is_found_again(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.keep("sweep", trial())
    with Store(tmp_path / "s.sqlite") as store:
        assert store.find(["k1", "k2"]) == {"k1": trial()}
        assert store.trials("sweep") == [trial()]
        assert store.trials("another") == []


def test_many_keys_are_found_at_once(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        for n in range(1200):
            store.keep("sweep", trial(f"k{n}"))
        assert len(store.find(f"k{n}" for n in range(0, 2400))) == 1200


def test_the_record_is_kept_once_and_given_back(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        kept = [store.keep("sweep", trial(key), b"the record") for key in ("k1", "k2")]
        assert store.report(kept[0]) == b"the record"
        assert kept[0].report == kept[1].report
        assert store.report(trial("k3")) is None


@pytest.mark.parametrize("status", ["crashed", "timeout", "out of memory", "cancelled"])
def test_what_may_end_otherwise_is_tried_again(tmp_path: Path, status: str) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.keep("sweep", trial(status=status))
        assert store.find(["k1"]) == {}


@pytest.mark.parametrize("status", ["done", "failed", "wrong"])
def test_what_ends_the_same_way_is_kept(tmp_path: Path, status: str) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.keep("sweep", trial(status=status, reason="why"))
        assert store.find(["k1"])["k1"].reason == "why"


def test_a_read_only_store_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "shared" / "s.sqlite"
    with Store(path) as store:
        store.keep("sweep", trial())
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        with Store(path, read_only=True) as store:
            assert store.find(["k1"]) == {"k1": trial()}
            with pytest.raises(UsageError, match="read-only"):
                store.keep("sweep", trial("k2"))
        assert [file.name for file in path.parent.iterdir()] == ["s.sqlite"]
    finally:
        path.parent.chmod(0o755)


def test_threads_may_write_at_once(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store, Store(tmp_path / "s.sqlite") as other:
        threads = [
            threading.Thread(target=lambda s=s, n=n: s.keep("sweep", trial(f"{n}")))
            for n, s in enumerate([store, other] * 10)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store.trials()) == 20


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.sqlite").write_bytes(b"no database at all, but long enough to look at it")
    with pytest.raises(ArtifactError, match="not a store of trials"):
        Store(tmp_path / "x.sqlite")
    with pytest.raises(ArtifactError, match="does not exist"):
        Store(tmp_path / "missing.sqlite", read_only=True)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    Store(tmp_path / "s.sqlite").close()
    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        connection.execute("UPDATE about SET value = '2'")
    for read_only in (False, True):
        with pytest.raises(ArtifactError, match="schema 2, but this workbench reads up to 1"):
            Store(tmp_path / "s.sqlite", read_only=read_only)
