"""Files of others are recognised by their own marks; nothing in them is unpickled."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"segments": [], "device_traces": [[]]}, "is a memory snapshot of torch.cuda.memory"),
        ({"segments": [{"total_size": 1}] * 3}, "is a memory snapshot of torch.cuda.memory"),
        ({"segments": 3}, "is a pickle of a dict"),
        ([1, 2], "is a pickle of a list"),
        ({1, 2}, "is a pickle of a set"),
        ((1, 2), "is a pickle of a plain value"),
        (["x" * 9000], "is a pickle of a list"),
        (np.ones(3), "is a pickle of an array of numpy"),
    ],
)
@pytest.mark.parametrize("protocol", [4, 5])
def test_other_pickles_are_no_compiled_functions(
    tmp_path: Path, value: Any, words: str, protocol: int
) -> None:
    path = tmp_path / "other.pickle"
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    for call in (wb.inspect, wb.load):
        with pytest.raises(wb.ArtifactError, match=words):
            call(path)


def test_a_file_of_spaces_is_not_empty(tmp_path: Path) -> None:
    path = tmp_path / "spaces.aot"
    path.write_bytes(b" " * 9000)
    with pytest.raises(wb.ArtifactError, match="begins with white space"):
        wb.inspect(path)
    with pytest.raises(wb.ArtifactError, match="begins with white space"):
        wb.read_profile(path)


def test_a_long_name_in_a_directory_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "lying.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/" + "\1" * 900, b"x")
    with pytest.raises(wb.ArtifactError, match="does not belong there") as refused:
        wb.inspect(path)
    assert len(str(refused.value)) < 300
