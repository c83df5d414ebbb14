"""What is written as Inductor's choice of a configuration is what Inductor itself takes."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import torch._inductor.codecache as codecache

from workbench.analysis.kernel_configs.triton_source import make_decorator
from workbench.analysis.tuning.tuned import name_source, save_choice

SOURCE = """
import triton
from torch._inductor.runtime import triton_heuristics
from torch._inductor.runtime.hints import DeviceProperties

@triton_heuristics.pointwise(
    size_hints={'x': 2097152}, filename=__file__,
    triton_meta={'signature': {'x': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'},
                 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90,
                                            major=9, warp_size=32)},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_pointwise': True%s},
)
@triton.jit
def k(x, xnumel, XBLOCK):
    pass
"""


def test_inductor_takes_what_was_written(tmp_path: Path) -> None:
    text = SOURCE % ""
    file = name_source(text, tmp_path)
    assert len(inspect.getclosurevars(make_decorator(text, str(file))).nonlocals["configs"]) == 2
    path = save_choice(make_decorator(text, str(file)), {"XBLOCK": 2048}, 8, 1)
    assert path is not None
    assert path.parent == file.parent
    (taken,) = inspect.getclosurevars(make_decorator(text, str(file))).nonlocals["configs"]
    assert (taken.kwargs, taken.num_warps, taken.num_stages) == ({"XBLOCK": 2048}, 8, 1)


def test_the_text_has_the_name_that_inductor_gives_it(tmp_path: Path) -> None:
    text = SOURCE % ""
    key, path = codecache.write(text, "py", specified_dir=str(tmp_path))
    assert name_source(text, tmp_path) == tmp_path / key[1:3] / Path(path).name


def test_coordinate_descent_does_not_begin_anew(tmp_path: Path) -> None:
    text = SOURCE % ", 'coordinate_descent_tuning': True"
    decorator = make_decorator(text, str(name_source(text, tmp_path)))
    path = save_choice(decorator, {"XBLOCK": 64}, 4, 1)
    assert path is not None
    assert json.loads(path.read_text())["found_by_coordesc"] is True
    again = make_decorator(text, str(name_source(text, tmp_path)))
    (taken,) = inspect.getclosurevars(again).nonlocals["configs"]
    assert taken.found_by_coordesc


def test_where_inductor_reads_none_none_is_written(tmp_path: Path) -> None:
    text = SOURCE % ", 'force_disable_caches': True"
    assert save_choice(make_decorator(text, str(tmp_path / "k.py")), {"XBLOCK": 64}, 4, 1) is None
    assert list(tmp_path.iterdir()) == []
