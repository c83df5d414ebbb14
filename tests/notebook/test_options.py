from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from torch.export import Dim

from workbench.errors import UsageError
from workbench.notebook.options import dynamic, dynamic_shapes, parse_fits_options

Run = Callable[[str], ExecutionResult]


def test_a_range_becomes_a_dim() -> None:
    shapes = dynamic_shapes(["x:0=batch[1..64]", "y:-1=n[..8]", "z:2=m", "z:1"])
    assert shapes is not None
    batch = shapes["x"][0]
    assert (batch.__name__, batch.min, batch.max) == ("batch", 1, 64)
    assert (shapes["y"][-1].__name__, shapes["y"][-1].max) == ("n", 8)
    assert shapes["z"][1] is Dim.AUTO


def test_one_name_is_one_dim() -> None:
    shapes = dynamic_shapes(["x:0=batch[2..64]", "y:0=batch"])
    assert shapes is not None
    assert shapes["x"][0] is shapes["y"][0]


def test_nothing_is_nothing() -> None:
    assert dynamic_shapes([]) is None


@pytest.mark.parametrize(
    "specs", [["x"], ["x:a"], ["x:0=b[1-2]"], ["x:0=b[1..2]", "y:0=b[1..3]"], ["0:x=b"]]
)
def test_another_form_is_refused(specs: list[str]) -> None:
    with pytest.raises(UsageError, match="-d"):
        dynamic_shapes(specs)


def test_options_reach_the_api(
    run: Run,
    shell: InteractiveShell,
    package_calls: list[Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "model.pt2"
    run(
        f"%aot_compile -p {path} -m max-autotune -O epilogue_fusion=false -d x:0=batch[1..64] "
        "-o packed abs(-1)"
    )
    (call,) = package_calls
    assert (call.path, call.mode, call.args) == (str(path), "max-autotune", (-1,))
    assert call.options == {"epilogue_fusion": False}
    dim = call.dynamic_shapes["x"][0]
    assert (dim.__name__, dim.min, dim.max) == ("batch", 1, 64)
    assert repr(shell.user_ns["packed"]) == "Compiled(stand-in)"
    shown = capsys.readouterr().out
    assert f"Packaged as {path}." in shown
    assert "block (inductor, max-autotune, host)" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-s m.aot", "use only one of them"),
        ("-g strict", "a package has a contract instead"),
        ("-b eager", "-p compiles with AOTInductor: leave -b out"),
        ("--bg", "cannot be combined with -s, -p or -a"),
        ("-p", "-p needs a value: -p PATH"),
    ],
)
def test_what_a_package_cannot_is_one_line(
    run: Run,
    package_calls: list[Any],
    capsys: pytest.CaptureFixture[str],
    options: str,
    message: str,
) -> None:
    run(f"%aot_compile abs(-1) -p m.pt2 {options}" if options != "-p" else "%aot_compile -p")
    error = capsys.readouterr().err
    assert error.startswith("UsageError: %aot_compile")
    assert message in error
    assert not package_calls


@pytest.mark.parametrize(("option", "target"), [("-t h100", "h100"), ("-t cpu", "host")])
def test_a_package_can_be_for_a_gpu_that_is_not_here(
    run: Run, package_calls: list[Any], tmp_path: Path, option: str, target: str
) -> None:
    run(f"%aot_compile -p {tmp_path / 'm.pt2'} {option} --no-view abs(-1)")
    (call,) = package_calls
    assert vars(call).get("target", "host") == target


def test_every_size_or_none_is_dynamic_in_one_word() -> None:
    assert dynamic(["True"]) == {"dynamic": True, "dynamic_shapes": None}
    assert dynamic(["false"]) == {"dynamic": False, "dynamic_shapes": None}
    assert dynamic([]) == {"dynamic": None, "dynamic_shapes": None}


def test_what_a_model_has_to_fit_into() -> None:
    none = dict.fromkeys(("target", "moments", "optimizer", "layers", "total"), "")
    assert parse_fits_options(Namespace(**none, no_grad=False)) == {"grad": True}
    words = none | {"optimizer": "8", "layers": "2,4", "total": "32", "target": "a100"}
    assert parse_fits_options(Namespace(**words, no_grad=True)) == {
        "grad": False,
        "target": "a100",
        "optimizer": 8.0,
        "layers": (2, 4),
        "total": 32,
    }
    words = none | {"optimizer": "none", "layers": "all"}
    assert parse_fits_options(Namespace(**words, no_grad=False))["optimizer"] is None
    assert parse_fits_options(Namespace(**words, no_grad=False))["layers"] is None
    with pytest.raises(UsageError, match="--total many: expected a number of layers"):
        parse_fits_options(Namespace(**none | {"total": "many"}, no_grad=False))
