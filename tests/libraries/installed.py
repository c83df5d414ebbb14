"""The libraries whose models are tried, installed beside the environment and not in it.

Inside they would change what other tests see: transformers asks whether timm is there, torch
contracts with opt_einsum where it finds it.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(sys.prefix) / "zoo" / "site-packages"
MODES = Enum("InterpolationMode", "NEAREST BILINEAR BICUBIC BOX HAMMING LANCZOS")
PREPROCESSING: Mapping[str, tuple[str, ...]] = {
    "torchvision": (),
    "torchvision.datasets": (
        "CIFAR100",
        "CIFAR10",
        "MNIST",
        "KMNIST",
        "FashionMNIST",
        "ImageFolder",
    ),
    "torchvision.ops": (),
    "torchvision.ops.misc": ("FrozenBatchNorm2d",),
    "torchvision.transforms": ("ToTensor", "RandomCrop", "CenterCrop"),
    "torchvision.transforms.functional": (MODES.__name__,),
}
"""What timm imports of torchvision: names of preprocessing, and a norm that no model here has."""


def use() -> None:
    """Make the libraries importable in this process, behind everything of the environment."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))


def import_timm() -> Any:
    """The library with names in torchvision's place.

    torchvision's build for CUDA does not load beside torch's for CPUs ("operator torchvision::nms
    does not exist"), and its build for CPUs is on an index of its own.
    """
    use()
    if "timm" in sys.modules:
        return sys.modules["timm"]
    with _names_of_torchvision():
        return importlib.import_module("timm")


@contextlib.contextmanager
def _names_of_torchvision() -> Iterator[None]:
    """Only meanwhile: other libraries would take them for the whole of torchvision."""
    for name, classes in PREPROCESSING.items():
        parent, _, last = name.rpartition(".")
        module = sys.modules[name] = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None, is_package=True)
        module.__path__ = []
        for kind in classes:
            setattr(module, kind, MODES if kind == MODES.__name__ else type(kind, (), {}))
        if parent:
            setattr(sys.modules[parent], last, module)
    try:
        yield
    finally:
        for name in PREPROCESSING:
            del sys.modules[name]
