"""The same code with the same shapes has the same key, in whatever process, cell or file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch

from workbench.compiler.calls.content_key import hash_case

X = torch.zeros(4, 8)
SOURCE = '''
import functools
import torch
from torch import nn

SCALE = 2.0
CHOICES = {"relu": torch.relu}

def helper(x):
    """Scales."""
    return CHOICES["relu"](x) * SCALE

def f(x, flag=True):
    return helper(x) + 1 if x.shape[0] in {4, 8, 16} else x

class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.table = {"a": 1}

    def forward(self, x):
        return helper(self.inner(x))
'''


def names_of(source: str, blanks: int = 0, file: str = "cell 1") -> dict[str, Any]:
    """What a notebook cell with this source defines."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile("\n" * blanks + source, file, "exec", dont_inherit=True), scope)
    return scope


def key_of(source: str, take: Callable[[dict[str, Any]], Any], **more: Any) -> str:
    found = hash_case(take(names_of(source, **more)), (X,), {}, {})
    assert found.unknown == ()
    return found.digest


def function(scope: dict[str, Any]) -> Any:
    return scope["f"]


def module(scope: dict[str, Any]) -> Any:
    return scope["Block"]()


@pytest.mark.parametrize("take", [function, module])
def test_file_and_line_do_not_count(take: Callable[[dict[str, Any]], Any]) -> None:
    moved = key_of(SOURCE, take, blanks=7, file="cell 9")
    assert moved == key_of(SOURCE, take)


@pytest.mark.parametrize("take", [function, module])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SCALE = 2.0", "SCALE = 3.0"),
        ('"relu": torch.relu', '"relu": torch.sigmoid'),
        ("* SCALE", "+ SCALE"),
    ],
)
def test_what_is_called_counts(take: Callable[[dict[str, Any]], Any], old: str, new: str) -> None:
    assert old in SOURCE
    assert key_of(SOURCE.replace(old, new), take) != key_of(SOURCE, take)


@pytest.mark.parametrize(
    ("old", "new"), [("{4, 8, 16}", "{4, 8, 17}"), ("flag=True", "flag=False"), ("+ 1 ", "+ 2 ")]
)
def test_the_function_itself_counts(old: str, new: str) -> None:
    assert old in SOURCE
    assert key_of(SOURCE.replace(old, new), function) != key_of(SOURCE, function)


def test_docstrings_do_not_count() -> None:
    assert key_of(SOURCE.replace("Scales.", "Other words."), function) == key_of(SOURCE, function)


def test_the_first_text_of_a_function_without_a_docstring_counts() -> None:
    source = "def f(x):\n    return x['a']"
    assert key_of(source, function) != key_of(source.replace("'a'", "'b'"), function)


def test_annotations_of_a_class_do_not_count() -> None:
    annotated = SOURCE.replace("    def forward", "    width: int\n\n    def forward")
    scope = names_of(annotated)
    scope["Block"].__annotations__  # noqa: B018  # Python 3.14 keeps what was read in the class
    assert hash_case(scope["Block"](), (X,), {}, {}).digest == key_of(SOURCE, module)


def test_values_of_weights_do_not_count_but_shapes_do() -> None:
    scope = names_of(SOURCE)
    keys = {hash_case(scope["Block"](w), (X,), {}, {}).digest for w in (8, 8, 16)}
    assert len(keys) == 2


def test_attributes_mode_and_hooks_of_a_module_count() -> None:
    scope = names_of(SOURCE)
    changed, evaluated, hooked = (scope["Block"]() for _ in range(3))
    changed.table["a"] = 2
    evaluated.eval()
    hooked.register_forward_hook(lambda module, args, output: output + 1)
    modules = (scope["Block"](), changed, evaluated, hooked)
    assert len({hash_case(m, (X,), {}, {}).digest for m in modules}) == 4


def test_inputs_and_settings_count() -> None:
    f = names_of(SOURCE)["f"]
    keys = [
        hash_case(f, (X,), {}, {}),
        hash_case(f, (X + 1,), {}, {}),
        hash_case(f, (X[:2],), {}, {}),
        hash_case(f, (X.double(),), {}, {}),
        hash_case(f, (X.t().contiguous().t(),), {}, {}),
        hash_case(f, (X,), {"flag": False}, {}),
        hash_case(f, (X,), {}, {"mode": "max-autotune"}),
    ]
    digests = [key.digest for key in keys]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 6


def test_closures_and_partials_count() -> None:
    def scaled(by: float) -> Any:
        return lambda x: x * by

    keys = {hash_case(scaled(by), (X,), {}, {}).digest for by in (2.0, 2.0, 3.0)}
    assert len(keys) == 2


def test_what_cannot_be_looked_into_is_named() -> None:
    iterator = iter([1, 2])

    def f(x: torch.Tensor) -> torch.Tensor:
        return x + next(iterator)

    assert hash_case(f, (X,), {}, {}).unknown == (
        "the closure variable 'iterator' of f() is a list_iterator",
    )


KERNEL = """
import triton
import triton.language as tl

SCALE: tl.constexpr = tl.constexpr(2)

@triton.jit
def twice(x):
    return x * SCALE

@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, twice(tl.load(x + at)))
"""


def read_kernel(path: Path, text: str) -> Any:
    path.write_text(text)
    scope: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    exec(compile(text, str(path), "exec"), scope)
    return scope["kernel"]


def test_a_kernel_counts_by_its_text_and_what_it_reads(tmp_path: Path) -> None:
    texts = [
        *(KERNEL, "\n\n" + KERNEL),
        KERNEL.replace("constexpr(2)", "constexpr(3)"),
        KERNEL.replace("x * SCALE", "x + SCALE"),
        KERNEL.replace("BLOCK: tl.constexpr", "BLOCK"),  # what no code object tells
        KERNEL.replace("@triton.jit\ndef kernel", "@triton.jit(debug=True)\ndef kernel"),
    ]
    kernels = [read_kernel(tmp_path / f"k{n}.py", text) for n, text in enumerate(texts)]
    keys = [hash_case(kernel, (), {}, {}) for kernel in kernels]
    assert not any(key.unknown for key in keys)
    assert keys[0] == keys[1]
    assert len({key.digest for key in keys}) == len(texts) - 1
    _ = kernels[0].cache_key  # which Triton keeps in the kernel, beside what it compiled
    kernels[0].device_caches[0] = ({}, {}, iter([]), None, None)
    assert hash_case(kernels[0], (), {}, {}) == keys[0]


def test_a_function_of_constants_counts_with_the_kernel_that_calls_it(tmp_path: Path) -> None:
    half = "@triton.constexpr_function\ndef half(n):\n    return n // 2\n\n@triton.jit\ndef kernel"
    text = KERNEL.replace("@triton.jit\ndef kernel", half).replace("0, BLOCK", "0, half(BLOCK)")
    texts = text, "\n" + text, text.replace("n // 2", "n // 4")
    kernels = [read_kernel(tmp_path / f"k{n}.py", each) for n, each in enumerate(texts)]
    first, same, other = (hash_case(kernel, (), {}, {}) for kernel in kernels)
    assert first == same
    assert (first.digest != other.digest, other.unknown) == (True, ())


def test_packages_are_named_with_their_versions() -> None:
    found = hash_case(names_of(SOURCE)["f"], (X,), {}, {})
    assert f"torch {metadata.version('torch')}" in found.packages


def test_a_new_process_with_another_hash_seed_gives_the_same_key(tmp_path: Path) -> None:
    script = (
        "import sys, torch; sys.path.insert(0, sys.argv[1])\n"
        "from workbench.compiler.calls.content_key import hash_case\n"
        f"scope = {{'__name__': '__main__'}}; exec({SOURCE!r}, scope)\n"
        "print(hash_case(scope['Block'](), (torch.zeros(4, 8),), {}, {}).digest)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parents[3])],
        env={"PYTHONHASHSEED": "1", "PATH": ""},  # this process has one that was drawn
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == key_of(SOURCE, module) + "\n"
