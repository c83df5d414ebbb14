"""Looking inside without executing."""

from __future__ import annotations

import gzip
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.torchs_file import write_like_torch
from workbench.artifacts.archive import aot_container
from workbench.artifacts.inspect.inspection import inspect
from workbench.artifacts.inspect.opcodes import read_pickle
from workbench.artifacts.manifest.manifest import Manifest
from workbench.artifacts.trust.trust import TrustStore
from workbench.errors import ArtifactError


class Bomb:
    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return eval, (f"open({str(self.marker)!r}, 'w')",)


def hidden(marker: Path) -> bytes:
    """A pickle inside a pickle inside a pickle."""
    inner = pickle.dumps({"deep": Bomb(marker)}, protocol=4)
    return pickle.dumps(["harmless", pickle.dumps((1, inner), protocol=5)], protocol=4)


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    members: dict[str, aot_container.Content] = {"payload": hidden(tmp_path / "ran")}
    manifest = aot_container.with_members(Manifest(), members)
    aot_container.write_artifact(tmp_path / "m.aot", manifest, members)
    return tmp_path / "m.aot"


def test_nested_pickles_are_seen_and_nothing_runs(artifact: Path) -> None:
    report = inspect(artifact, store=TrustStore(artifact.parent / "data"))
    assert report.imports == report.unusual == ("builtins:eval",)
    assert not (artifact.parent / "ran").exists()


def test_the_summary_is_short_and_names_what_matters(artifact: Path) -> None:
    store = TrustStore(artifact.parent / "data")
    text = repr(inspect(artifact, store=store))
    assert text == repr(inspect(artifact, store=store))
    assert "not signed" in text
    assert "sha256:" in text
    assert "builtins:eval" in text
    store.vouch(inspect(artifact, store=store).digest)
    assert "trusted by you" in repr(inspect(artifact, store=store))


def test_a_damaged_member_is_marked(artifact: Path) -> None:
    content = artifact.read_bytes()
    artifact.write_bytes(content.replace(b"harmless", b"harmful!"))
    report = inspect(artifact, store=TrustStore(artifact.parent / "data"))
    assert [member.name for member in report.members if member.damaged] == ["payload"]
    assert "DAMAGED  payload" in repr(report)


@pytest.mark.parametrize("header", [b"", b"PT2AOT\x01"])
def test_files_of_torch_are_read_too(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "torch.bin"
    path.write_bytes(header + write_like_torch(OSError, hidden(tmp_path / "ran")))
    report = inspect(path, store=TrustStore(tmp_path / "data"))
    assert report.kind == "torch"
    assert {"builtins:OSError", "builtins:eval", "inspect:Signature"} <= {*report.imports}
    assert not (tmp_path / "ran").exists()


def test_a_file_of_torch_that_somebody_put_a_call_into_is_looked_into(tmp_path: Path) -> None:
    content, call = write_like_torch(), b"cos\nsystem\n(S'echo'\ntR0"
    (tmp_path / "gift.pt").write_bytes(content[:2] + call + content[2:])
    report = inspect(tmp_path / "gift.pt", store=TrustStore(tmp_path / "data"))
    assert report.kind == "torch"
    assert "os:system" in report.unusual


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello")
    with pytest.raises(ArtifactError, match="not an artifact or package"):
        inspect(tmp_path / "x")


def test_names_are_followed_through_the_memo() -> None:
    facts = read_pickle(pickle.dumps([OSError, OSError, ValueError, Path("a")], protocol=4))
    assert facts.complete
    path = f"{Path.__module__}:PosixPath"
    assert facts.globals == ("builtins:OSError", "builtins:ValueError", path)
    assert read_pickle(pickle.dumps(OSError, protocol=0)).globals == ("exceptions:OSError",)


def test_a_name_computed_while_reading_is_reported() -> None:
    crafted = b"\x80\x04" + b"\x8c\x02osK\x01\x93."  # the attribute is a number
    assert read_pickle(crafted).globals == ("a name computed during unpickling",)


def test_an_unreadable_pickle_says_so() -> None:
    facts = read_pickle(b"\x80\x04\x8c\x05ab")
    assert not facts.complete
    assert facts.problem


def test_looking_needs_no_torch(artifact: Path) -> None:
    code = (
        "import sys\nfrom workbench.artifacts.inspect.inspection import inspect\n"
        f"print(inspect({str(artifact)!r}).digest[:7], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "sha256: False\n"


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_log_of_tritonparse_is_named_as_such(is_packed: bool, tmp_path: Path) -> None:
    lines = b'{"event_type": "compilation", "pid": 3, "stack": []}\n' * 300
    path = tmp_path / "triton.ndjson"
    path.write_bytes(gzip.compress(lines) if is_packed else lines)
    with pytest.raises(ArtifactError, match="is a tritonparse log"):
        inspect(path)
