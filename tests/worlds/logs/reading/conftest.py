from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

LOGS = Path(__file__).parents[3] / "records" / "traces"


@pytest.fixture
def log(tmp_path: Path) -> Callable[[str], Path]:
    """A recorded log as torch wrote it: `log("failed")` is its path, a folder for several ranks."""

    def unpacked(shape: str) -> Path:
        target = tmp_path / shape
        target.mkdir()
        packed = [LOGS / f"{shape}.log.gz"]
        for file in packed if packed[0].exists() else (LOGS / shape).glob("*.gz"):
            (target / file.name.removesuffix(".gz")).write_bytes(gzip.decompress(file.read_bytes()))
        files = list(target.iterdir())
        return files[0] if len(files) == 1 else target

    return unpacked
