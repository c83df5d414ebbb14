"""What names of Python frames say."""

from __future__ import annotations

import pytest

from workbench.worlds.profiles.reading.device_work import (
    read_module,
    read_module_class,
    read_program_frame,
)

HASHED = "/somewhere/uj/cujcu6noe7k7gezt6pvzuaegk4yl57mfx6efpnmdkzlq6gs6bfmi.py(691): call"


@pytest.mark.parametrize(
    "name",
    [
        "torch/nn/modules/linear.py(124): forward",
        "/usr/lib/python3.11/site-packages/torch/_ops.py(5): __call__",
        "<built-in method linear of type object at 0x7f00>",
        "<frozen importlib._bootstrap>(1176): _find_and_load",
        "<eval_with_key>.5(4): forward",
        "threading.py(1032): _bootstrap",
        "/tmp/torchinductor_root/ab/x.py(3): call",
        HASHED,
        "nn.Module: Linear_3",
        "nonsense",
    ],
)
def test_frames_that_are_none_of_the_program(name: str) -> None:
    assert read_program_frame(name) is None


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("transformers/models/qwen2/modeling_qwen2.py(210): forward", "modeling_qwen2.py:210"),
        ("/home/user/train.py(12): step", "train.py:12"),
        ("C:\\work\\train.py(12): step", "train.py:12"),
        ("torchvision/models/resnet.py(89): forward", "resnet.py:89"),
    ],
)
def test_frames_of_the_program(name: str, place: str) -> None:
    frame = read_program_frame(name)
    assert frame is not None
    assert frame.place == place


def test_a_module_has_a_class_and_a_number() -> None:
    assert read_module("nn.Module: Qwen2MLP_13") == "Qwen2MLP_13"
    assert read_module("model.py(3): forward") is None
    assert [read_module_class(name) for name in ("Linear_3", "My_Net_0", "Loss")] == [
        "Linear",
        "My_Net",
        "Loss",
    ]
