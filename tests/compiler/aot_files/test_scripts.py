"""A script that compiles and saves, run again to load: it defines its classes a second time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fresh_process import run_script

SCRIPT = """
import dataclasses, sys
import torch
import workbench as wb

@dataclasses.dataclass
class Scale:
    by: float = 2.0

@dataclasses.dataclass
class Pair:
    a: torch.Tensor
    b: torch.Tensor

class Base(torch.nn.Module):
    def forward(self, x):
        return self.head(x.a) + x.b if isinstance(x, Pair) else x

class Model(Base):
    def __init__(self):
        super().__init__()
        self.layer, self.scale = torch.nn.Linear(4, 4), Scale()
    def head(self, x):
        return self.layer(x) * self.scale.by

torch.utils._pytree.register_dataclass(Pair)
path, given = sys.argv[2], Pair(torch.ones(2, 4), torch.ones(2, 4))
if sys.argv[1] == "save":
    torch.manual_seed(0)
    model = wb.aot_compile(Model().eval(), (given,), grad=False, backend="eager")
    model.save(path)
else:
    model = wb.load(path)
    model.save(path + ".again")
    assert torch.equal(wb.load(path + ".again")(given), model(given))
print("sum", model(given).sum().item())
"""


def run(folder: Path, word: str, script: str = SCRIPT) -> str:
    (folder / "script.py").write_text(script)
    return run_script(folder, word, str(folder / "model.aot")).partition("sum")[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("script")


@pytest.fixture(scope="module")
def saved(folder: Path) -> str:
    return run(folder, "save")


def test_its_second_run_loads_what_its_first_saved(folder: Path, saved: str) -> None:
    assert run(folder, "load") == saved


def test_a_class_that_was_changed_meanwhile_is_not_the_one_of_the_file(
    folder: Path, saved: str
) -> None:
    changed = SCRIPT.replace("return self.layer(x) * self.scale.by", "return self.layer(x)")
    assert run(folder, "load", changed) == saved  # compiled code, as it was saved


GONE = """
import sys
import cloudpickle, torch
import workbench as wb

class Part(torch.nn.Module):
    def forward(self, x):
        return x * 2

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([Part(), Part()])
    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x

made = cloudpickle.dumps(Model())
del Model, Part
model = cloudpickle.loads(made)  # as a worker process gets it: a sweep measures saved files, too
wb.aot_compile(model, (torch.ones(3),), grad=False, backend="eager").save(sys.argv[2])
print("sum", wb.load(sys.argv[2])(torch.ones(3)).sum().item())
"""


def test_a_class_that_the_script_no_longer_has_is_saved_too(tmp_path: Path) -> None:
    assert run(tmp_path, "save", GONE).strip() == "12.0"
