"""A library altered after it was signed: refused before its constructor can run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from tests.faults.libraries import FORGERIES, forged, marking_library

ROOT = Path(__file__).parents[2]
KINDS = ("artifact", "package")
TRUSTED = """
import sys, warnings
import workbench as wb
warnings.simplefilter("ignore")
try:
    wb.load(sys.argv[1], trust=True)
except wb.WorkbenchError:
    pass
"""


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that the harmful library makes."""
    return tmp_path / "mark"


@pytest.fixture
def library(mark: Path, tmp_path: Path) -> bytes:
    return marking_library(tmp_path, mark)


@pytest.fixture(autouse=True)
def signed_by_you(samples: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The user of this test is the one who signed the samples."""
    monkeypatch.setenv("AOT_WORKBENCH_DATA", str(Path(samples["artifact"]).parent / "data"))


def run(program: str, file: Path) -> None:
    subprocess.run([sys.executable, "-c", program, str(file)], cwd=ROOT, check=True, timeout=120)


def written(samples: dict[str, str], kind: str, how: str, library: bytes, folder: Path) -> Path:
    """The forged sample on disk."""
    whole = Path(samples[kind])
    path = folder / f"forged{whole.suffix}"
    path.write_bytes(forged(how, whole.read_bytes(), library))
    return path


def test_the_library_leaves_its_mark_when_it_is_opened(
    library: bytes, mark: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.so").write_bytes(library + bytes(1000))  # as a forgery in place has it
    run("import ctypes, sys; ctypes.CDLL(sys.argv[1])", tmp_path / "other.so")
    assert mark.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_it_leaves_its_mark_when_the_user_trusts_the_file(
    kind: str, samples: dict[str, str], library: bytes, mark: Path, tmp_path: Path
) -> None:
    run(TRUSTED, written(samples, kind, "listed", library, tmp_path))
    assert mark.exists()


@pytest.mark.parametrize("how", FORGERIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_forged_library_is_refused_and_never_opened(
    kind: str, how: str, samples: dict[str, str], library: bytes, mark: Path, tmp_path: Path
) -> None:
    path = written(samples, kind, how, library, tmp_path)
    expected = wb.TrustError if how == "listed" else wb.ArtifactError
    with pytest.raises(expected):
        wb.load(path)
    assert not mark.exists()


@pytest.mark.parametrize("how", [how for how in FORGERIES if how != "listed"])
@pytest.mark.parametrize("kind", KINDS)
def test_trust_does_not_excuse_a_library_that_differs_from_its_hash(
    kind: str, how: str, samples: dict[str, str], library: bytes, mark: Path, tmp_path: Path
) -> None:
    path = written(samples, kind, how, library, tmp_path)
    with pytest.raises(wb.ArtifactError):
        wb.load(path, trust=True)
    assert not mark.exists()
