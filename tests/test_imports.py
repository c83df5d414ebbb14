"""Who may import whom, what an import costs, where private names of torch may stand."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "workbench"
BASE = {"errors", "settings"}
DATA = BASE | {"report", "specs"}
MAY = {
    "errors": set(),
    "settings": {"errors"},
    "report": {"errors"},
    "specs": {"errors"},
    "analysis": DATA,
    "artifacts": DATA,
    "machine": {"artifacts"},
    "compiler": DATA | {"analysis", "artifacts"},
    "sweeps": DATA | {"compiler", "artifacts", "analysis"},
    "views": DATA | {"analysis"},
    "api": DATA | {"analysis", "artifacts", "compiler", "sweeps", "views"},
    "notebook": {"api", "views", "report", "errors"},
}
OUTSIDE = {  # what a room may import besides the standard library
    "analysis": set(),
    "artifacts": {"cryptography"},  # where a team's signature is made or checked
    "report": set(),
    "specs": set(),
    "errors": set(),
    "settings": {"errors"},
    "views": {"pandas", "matplotlib", "anywidget", "pygments", "traitlets"},
    "notebook": {"IPython", "ipykernel"},
}
VIEWS = ("workbench.views", "workbench.analysis", "pandas", "matplotlib")  # in methods that show
EXCEPTIONS = {
    ("report/record.py", "workbench.views"),  # Report.frame, .plot, .to_html, for type checkers too
    ("report/record.py", "pandas"),
    ("report/record.py", "matplotlib"),
    ("report/profile.py", "pandas"),  # Profile.frame
    ("artifacts/check.py", "pandas"),  # Check.table
    ("report/cache_keys.py", "pandas"),  # WhyRecompiled.table
    ("artifacts/xray/report.py", "pandas"),  # ArtifactReport.frame
    *(
        (f"report/{name}.py", room)
        for name in ("diff", "launches", "matrix", "ranked", "rivals", "roundtrip", "sweep")
        for room in VIEWS
    ),
    ("report/sweep.py", "workbench.sweeps"),  # Sweep.load, .export, .stored
    ("errors.py", "workbench.report"),  # the type of WorkbenchError.report
    ("notebook/dynamic.py", "torch"),  # -d makes torch.export.Dim, the form that the API takes
}


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            if node.module == "workbench":
                yield from (f"workbench.{alias.name}" for alias in node.names)


def files() -> list[Path]:
    outside = (ROOT / "__init__.py", ROOT / "demo.py")  # they use the public names only
    return [file for file in sorted(ROOT.rglob("*.py")) if file not in outside]


@pytest.mark.parametrize("file", files(), ids=lambda f: str(f.relative_to(ROOT)))
def test_every_room_imports_only_what_it_may(file: Path) -> None:
    place = str(file.relative_to(ROOT))
    room = place.partition("/")[0].removesuffix(".py")
    for name in imported(file):
        top, _, rest = name.partition(".")
        allowed = any(place == p and name.startswith(n) for p, n in EXCEPTIONS)
        if top == "workbench" and rest:
            part = rest.partition(".")[0]
            assert allowed or part == room or part in MAY[room], f"{place} imports {name}"
        elif top != "workbench" and top not in sys.stdlib_module_names:
            assert allowed or room not in OUTSIDE or top in OUTSIDE[room], f"{place} imports {name}"


def names_of_torch(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value if " " not in node.value else ""  # sentences are for people
        elif isinstance(node, ast.Attribute):
            yield ast.unparse(node)
    yield from imported(file)


def test_private_names_of_torch_stand_in_one_file() -> None:
    private = re.compile(r"torch(\.\w+)*\._[a-z]\w*")
    files = [file for file in ROOT.rglob("*.py") if file.name != "torch_private.py"]
    found = {f"{f.name}: {n}" for f in files for n in names_of_torch(f) if private.match(n)}
    assert not found


def run(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout


def test_the_package_imports_neither_torch_nor_ipython() -> None:
    heavy = run(
        "import sys; import workbench; heavy = ('torch', 'IPython', 'pandas', 'numpy'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    assert heavy.strip() == "[]"


@pytest.mark.parametrize("name", ["load", "inspect", "check", "machine", "aot_compile"])
def test_a_serving_image_needs_no_notebook_packages(name: str) -> None:
    run(
        "import sys\n"
        "for name in ('IPython', 'pandas', 'matplotlib', 'ipywidgets', 'anywidget', 'pygments'):\n"
        "    sys.modules[name] = None\n"
        "import workbench as wb\n"
        f"wb.{name}\n"
        "import workbench.artifacts.archive.container, workbench.artifacts.manifest.manifest\n"
        "import workbench.compiler.aot_files.loading\n"
    )
