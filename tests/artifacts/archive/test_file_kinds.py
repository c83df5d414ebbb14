"""Files of others are recognised by their own marks; nothing in them is unpickled."""

from __future__ import annotations

import gzip
import inspect
import pickle
import zipfile
from collections import OrderedDict
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import workbench as wb


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"segments": [], "device_traces": [[]]}, "is a memory snapshot from torch.cuda.memory"),
        ({"segments": [{"total_size": 1}] * 3}, "is a memory snapshot from torch.cuda.memory"),
        ({"segments": 3}, "is a pickle of a dict"),
        ([1, 2], "is a pickle of a list"),
        ({1, 2}, "is a pickle of a set"),
        ((1, 2), "is a pickle of a plain value"),
        (["x" * 9000], "is a pickle of a list"),
        (np.ones(3), "is a pickle of a NumPy array"),
        (torch.ones(2), "is a pickle of tensors"),
        ({"weight": torch.ones(2)}, "is a pickle of tensors"),
        (torch.nn.Linear(2, 2).state_dict(), "is a pickle of tensors"),
    ],
)
@pytest.mark.parametrize("protocol", range(6))
def test_other_pickles_are_no_compiled_functions(
    tmp_path: Path, value: Any, words: str, protocol: int
) -> None:
    path = tmp_path / "other.pickle"
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    for call in (wb.inspect, wb.load):
        with pytest.raises(wb.ArtifactError, match=words):
            call(path)


class Unknown:
    """A class that no part of the workbench names."""


def sign(x: int = 3) -> None: ...


@pytest.mark.parametrize(
    ("value", "first"),
    [
        (Unknown(), f"{__name__}.Unknown"),
        ([Unknown()], f"{__name__}.Unknown"),
        ({"Unknown": Unknown()}, f"{__name__}.Unknown"),  # the name is read from the memo
        ({"signature": Unknown()}, f"{__name__}.Unknown"),
        ({"signature": inspect.signature(sign)}, "inspect.Signature"),
        (inspect.signature(sign), "inspect.Signature"),
        (OrderedDict(a=1), "collections.OrderedDict"),
        (datetime(2026, 1, 1), "datetime.datetime"),
        (Path("a"), "pathlib."),
        (torch.float32, "torch.float32"),
        ({f"k{n}": n for n in range(100_000)} | {"z": Unknown()}, f"{__name__}.Unknown"),
    ],
)
@pytest.mark.parametrize("protocol", [4, 5])
def test_pickles_of_unknown_classes_are_no_compiled_functions(
    tmp_path: Path, value: Any, first: str, protocol: int
) -> None:
    """Only the keys that torch's save_compiled_function writes make a pickle one of its files."""
    path = tmp_path / "other.pickle"
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    said = refused(path)
    assert f"is a pickle of other objects, the first {first}" in said
    assert "it was not unpickled" in said
    with pytest.raises(wb.ArtifactError, match="is a pickle of other objects"):
        wb.check(path)


def test_a_file_of_spaces_is_not_empty(tmp_path: Path) -> None:
    path = tmp_path / "spaces.aot"
    path.write_bytes(b" " * 9000)
    with pytest.raises(wb.ArtifactError, match="contains only white space"):
        wb.inspect(path)
    with pytest.raises(wb.ArtifactError, match="starts with white space"):
        wb.read_profile(path)


def test_a_long_name_in_a_directory_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "lying.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/" + "\1" * 900, b"x")
    with pytest.raises(wb.ArtifactError, match="unexpected member") as refused:
        wb.inspect(path)
    assert len(str(refused.value)) < 300


def refused(path: Path) -> str:
    """What `inspect` and `load` say of a file, which is the same."""
    said = []
    for call in (wb.inspect, wb.load):
        with pytest.raises(wb.ArtifactError) as raised:
            call(path)
        said.append(str(raised.value))
    assert said[0] == said[1]
    return said[0]


def test_files_of_torch_save_are_weights_and_no_code(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 2)
    path = tmp_path / "weights.pt"
    for is_zip in (True, False):
        torch.save(model.state_dict(), path, _use_new_zipfile_serialization=is_zip)
        said = refused(path)
        assert "was written by torch.save" in said
        assert "torch.load(path, weights_only=True)" in said
        assert torch.load(path, weights_only=True).keys() == model.state_dict().keys()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:  # as torch.jit.save does
        for member in ("data.pkl", "constants.pkl", "code/__torch__.py"):
            archive.writestr(f"model/{member}", b"x" * 100)
    assert "Open it with torch.jit.load" in refused(path)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("protocol", [4, 5])
def test_an_older_file_of_torch_save_is_known_in_any_protocol(
    tmp_path: Path, protocol: int
) -> None:
    """It ends with the bytes of a tensor, and was said to be cut short."""
    path = tmp_path / "weights.pt"
    torch.save([1], path, pickle_protocol=protocol, _use_new_zipfile_serialization=False)
    said = refused(path)
    assert "was written by torch.save in its older format" in said
    assert "Save the weights again without pickle_protocol" in said
    with pytest.raises(pickle.UnpicklingError, match="Unsupported operand"):
        torch.load(path, weights_only=True)


TIMELINE = (
    b'<html>\n<head><meta charset="utf-8" /><title>GPU Memory Timeline HTML</title></head>\n<body>'
)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (TIMELINE, "is a torch.profiler memory timeline as an HTML page"),
        (b"<!DOCTYPE html><html><body>", "is an HTML page"),
        (b"[[1, 2], [[0], [0]]]", "is a torch.profiler memory timeline"),
        (b'{"schemaVersion": 1, "traceEvents": [', "wb.read_profile"),
        (
            b'{\n  "schema": "1.1.1-chakra.0.0.4", "pid": 3,\n  "nodes": [',
            "is a torch execution trace",
        ),
    ],
)
def test_texts_of_others_are_said_to_be_that(tmp_path: Path, content: bytes, words: str) -> None:
    for name, written in (("plain.json", content), ("packed.gz", gzip.compress(content))):
        path = tmp_path / name
        path.write_bytes(written)
        assert words in refused(path)
        if "read_profile" not in words:
            with pytest.raises(wb.ArtifactError, match=words):
                wb.read_profile(path)


def test_an_execution_trace_as_torch_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    observer = torch.profiler.ExecutionTraceObserver().register_callback(str(path))
    with torch.profiler.profile(execution_trace_observer=observer):
        torch.ones(3).relu()
    assert "is a torch execution trace" in refused(path)


def test_a_text_is_no_pickle(tmp_path: Path) -> None:
    """Each begins as a pickle of protocol 0 may, and ends as every pickle does."""
    path = tmp_path / "notes.txt"
    for text in ("I am a text.", "(a note.", "cargo is heavy.", "Notes."):
        path.write_text(text)
        assert "is not an artifact or package" in refused(path)
