"""The shape of the package in numbers: `python -m tests.shape` prints them.

Lines; the mean length of a function; private functions that are named once besides their
definition, per 1,000 lines; file names that occur twice or more; the share of public functions
whose name begins with a verb; files whose code names a kind of device.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1] / "workbench"
VERBS = frozenset(Path(__file__).with_name("verbs.txt").read_text().split())
DEVICES = frozenset({"cuda", "hip", "nvidia", "amd", "is_amd", "AMD", "NVIDIA", "VENDORS"})
"""What names a kind of device, or asks whose GPU it is."""


@dataclass(frozen=True)
class Shape:
    """The measures of a package."""

    lines: int
    files: int
    mean_function: float
    private_once: float  # for each 1,000 lines
    repeated_names: int
    verbs: float  # a share of the public functions, 0 to 1
    device_files: int


def shape(root: Path = ROOT) -> Shape:
    """Measure every Python file below a folder."""
    files = sorted(root.rglob("*.py"))
    lengths: list[int] = []
    private: list[str] = []
    public: list[str] = []
    words: Counter[str] = Counter()
    lines = device_files = 0
    for path in files:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines += text.count("\n")
        words.update(re.findall(r"[A-Za-z_]\w*", text))
        device_files += any(name in DEVICES for name in _names(tree))
        for function in _functions(tree):
            lengths.append((function.end_lineno or 0) - function.lineno + 1)
            if function.name.startswith("_"):
                private += [function.name] * (not function.name.endswith("__"))
            elif not _is_property(function):
                public.append(function.name)
    # each world has its files by the same names: `world.py`, `calls.py`, `views/messages.py`
    others = (
        path for path in files if "worlds" not in (path.parents[1].name, path.parents[2].name)
    )
    names = Counter(path.name for path in others)
    return Shape(
        lines=lines,
        files=len(files),
        mean_function=sum(lengths) / len(lengths),
        private_once=1000 * sum(words[name] <= 2 for name in private) / lines,
        repeated_names=sum(n > 1 for name, n in names.items() if name != "__init__.py"),
        verbs=sum(name.split("_")[0] in VERBS for name in public) / len(public),
        device_files=device_files,
    )


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    called = (getattr(d, "id", getattr(d, "attr", "")) for d in function.decorator_list)
    return any(name in {"property", "cached_property"} for name in called)


def _names(tree: ast.AST) -> Iterator[str]:
    """What code names as a whole: strings, names, and attributes such as `torch.cuda`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def main() -> None:
    """Print the measures."""
    found = shape()
    print(f"{found.lines:,} lines in {found.files} files")
    print(f"{found.mean_function:.1f} lines in the mean function")
    print(f"{found.private_once:.1f} private functions used once, for each 1,000 lines")
    print(f"{found.repeated_names} file names twice or more")
    print(f"{found.verbs:.0%} of the public functions begin with a verb")
    print(f"{found.device_files} files name a kind of device")


if __name__ == "__main__":
    main()
