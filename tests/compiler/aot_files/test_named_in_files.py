"""The modules of ours that a file names, as later versions have to find them."""

from __future__ import annotations

import random
import re
from importlib import import_module
from pathlib import Path
from zipfile import ZipFile

import torch

import workbench as wb

NAMED = {
    "workbench.compiler.aot_files.captured_tensors": ("read_memory", "rebuild_tensor"),
    "workbench.compiler.aot_files.guard_values": (
        "NotLookedAt",
        "fill_function",
        "make_function",
        "set_attributes",
    ),
    "workbench.compiler.aot_files.random_values": ("RandomValues",),
    "workbench.compiler.aot_files.stored_weights": ("parametrized",),
}
"""A module with a name here stays where it is, or files of today cannot be opened."""


def test_what_files_name_is_where_they_look_for_it() -> None:
    for module, names in NAMED.items():
        for name in names:
            assert getattr(import_module(module), name).__module__ == module


def test_a_file_names_no_other_module_of_ours(tmp_path: Path) -> None:
    held = torch.tensor([1.0, 2.0]).to(torch.float8_e4m3fn)

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * held.to(torch.float32) + random.uniform(1, 2)

    path = tmp_path / "f.aot"
    wb.aot_compile(f, (torch.ones(2),), backend="eager").save(path)
    with ZipFile(path) as archive:
        contents = [archive.read(name) for name in archive.namelist() if "report" not in name]
    named = {
        found.decode() for each in contents for found in re.findall(rb"workbench(?:\.\w+)+", each)
    }
    assert {
        "workbench.compiler.aot_files.captured_tensors",
        "workbench.compiler.aot_files.random_values",
    } <= named
    assert named <= NAMED.keys()
