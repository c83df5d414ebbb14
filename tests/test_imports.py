"""Who may import whom, what an import costs, where private names of torch may stand."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "workbench"

FLOORS = """
0 worlds
0 errors · number_text · glossary · installation · device_kinds
0 live_only · load_steps · foreign_text · argument_errors · host
0 file_path · temporary · process_memory
0 plain_data · typed_data · arguments
0 settings · specs · specs.opcodes · report
0 compiler.internals
1 compiler.sources · artifacts.manifest · analysis.fusion
1 artifacts.programs · artifacts.trials · artifacts.zip_files · tasks
1 analysis.changes
1 analysis.breaks · analysis.apart · analysis.blocks
1 analysis.kernel_script
1 artifacts.archive · analysis.source · analysis.gpu_model · processes
1 analysis.memory · analysis.library_kernels
1 analysis.kernel_time · analysis.cost · analysis.layers
1 analysis.kernel_configs
1 analysis.product_configs · analysis.tuning
1 analysis.budgets · analysis.calls
1 analysis.forecast
1 analysis.collectives
1 compiler.rows
1 compiler.calls · compiler.process_groups
1 compiler.request · compiler.captured_code
1 compiler.sizes
1 compiler.contract
1 compiler.call_state
1 compiler.guards
1 compiler.call_plan
1 artifacts.machine · artifacts.records · analysis.diff · compiler.cold_start
1 artifacts.trust · analysis.opportunities
1 analysis.quantities · analysis.kernel_checks · analysis.kernel_layouts
1 artifacts.inspect
1 artifacts.preflight
2 compiler.comparison
2 compiler.measuring · compiler.pairs · compiler.machine_code
2 views.wire
2 views.words
2 views.tables · views.kit.job_queue
2 views.kit · views.source_marks
2 views.static_html
2 views.answers · views.overview
2 views.layout · views.panes
2 views.gpu_model · views.tuning · views.cards · views.parts
2 views.charts · views.document · views.memory
2 views.pages · views.perfetto
2 views.text · views.diff
2 views.widgets
2 views.session
2 views.presenters · views.typescript
2 views
2 compiler.memory_layouts
2 compiler.late_values
2 compiler.aot_files · compiler.package_calls
2 compiler.aot_files.writing
2 compiler.aot_files.variants
2 compiler.captured_graphs
2 compiler.recording
3 compiler.pipeline · compiler.running
4 compiler.packaging · compiler.cpp_project · compiler.model_servers
4 compiler.kernels
4 compiler.virtual_gpu.device
4 compiler.virtual_gpu
4 compiler.interpreter.triton
4 compiler.interpreter.watched
4 compiler.interpreter
4 compiler.kernel_checks
4 compiler.sectors
5 handles.base
5 handles.running · handles.devices · handles.repeating
5 handles.memory · handles.kernels · handles.opportunities · handles.saving
5 handles.packages
5 handles.rehearsing
5 handles
5 handles.loading
5 handles.compiling
5 cells
6 roundtrips
6 worlds.expectations
6 worlds.clusters.rows
6 worlds.clusters.findings
6 worlds.clusters.hooks
6 worlds.clusters.running
6 worlds.clusters.compiling
6 worlds.clusters.views
6 worlds.clusters
6 worlds.own_kernels.handles
6 worlds.own_kernels.views
6 worlds.own_kernels
6 worlds.sweeps.rows
6 worlds.sweeps.trials
6 worlds.sweeps.recommendation
6 worlds.sweeps.sweep
6 worlds.sweeps.entry
6 worlds.sweeps.views
6 worlds.sweeps
6 worlds.profiles.rows
6 worlds.profiles.changes · worlds.profiles.matches
6 worlds.profiles.reading
6 worlds.profiles.views
6 worlds.profiles
6 worlds.logs.reading
6 worlds.logs.views
6 worlds.logs
6 worlds.numerics.rows
6 worlds.numerics.findings
6 worlds.numerics.computing
6 worlds.numerics.questions
6 worlds.numerics.views
6 worlds.numerics
6 worlds.sessions.rows
6 worlds.sessions.findings
6 worlds.sessions.recording
6 worlds.sessions.views
6 worlds.sessions.handles
6 worlds.sessions
7 api · machine · demo
8 notebook · command_line · pytest_plugin
8 __main__
"""
"""Every room with its floor, from below: a room imports rooms of earlier lines only.

Imports inside functions count. Those for type checkers may also go to other rooms of one floor.
"""

OUTSIDE = {  # what a room may import besides the standard library; others may import anything
    "errors": set(),
    "installation": set(),
    "arguments": set(),
    "number_text": set(),
    "device_kinds": set(),
    "plain_data": set(),
    "typed_data": set(),
    "temporary": set(),
    "settings": set(),
    "specs": set(),
    "report": set(),
    "analysis": set(),
    "artifacts": {"cryptography"},  # where a team's signature is made or checked
    "worlds.logs": {"orjson"},
    "worlds.profiles.reading": {"orjson", "numpy"},
    "views": {
        "pandas",
        "matplotlib",
        "anywidget",
        "pygments",
        "traitlets",
        "ipywidgets",
        "jinja2",
        "markupsafe",
    },
    "cells": {"IPython", "ipykernel"},
    "notebook": {"IPython", "torch"},  # torch.export.Dim, the form that -d takes
}

MOST_FILES = 24  # of one folder


@dataclass(frozen=True)
class Import:
    """One imported name of one file; `is_type` when only type checkers see it."""

    name: str
    is_type: bool


def _steps() -> tuple[Mapping[str, int], Mapping[str, int]]:
    steps, floors = {}, {}
    for step, line in enumerate(FLOORS.strip().split("\n")):
        floor, _, rooms = line.partition(" ")
        for room in rooms.split(" · "):
            steps[room], floors[room] = step, int(floor)
    return steps, floors


STEP, FLOOR = _steps()


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _imports(node: ast.AST, is_type: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, is_type
        elif isinstance(child, ast.If) and _is_for_types(child):
            for part in child.body:
                yield from _imports(ast.Module([part], []), True)
            for part in child.orelse:
                yield from _imports(ast.Module([part], []), is_type)
        else:
            yield from _imports(child, is_type)


@cache
def imported(file: Path) -> tuple[Import, ...]:
    found = []
    for node, is_type in _imports(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, is_type) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            found += [Import(f"{node.module}.{alias.name}", is_type) for alias in node.names]
    return tuple(found)


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def files() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


MODULES = {module_of(file): file for file in files()}


def target_of(name: str) -> str | None:
    """The module of ours that an imported name lies in."""
    parts = name.split(".")
    while parts and ".".join(parts) not in MODULES:
        parts.pop()
    return ".".join(parts) or None


def room_of(module: str) -> str | None:
    """The innermost room of the table; None for a folder of rooms and for the package itself."""
    parts = module.split(".")[1:]
    while parts and ".".join(parts) not in STEP:
        parts.pop()
    return ".".join(parts) or None


HOUSES = {"workbench", "workbench.analysis", "workbench.artifacts", "workbench.compiler"}
"""Folders of rooms: their `__init__` only says what they are, but for the package's own."""


def test_every_file_lies_in_a_room() -> None:
    lost = {name for name in MODULES if room_of(name) is None}
    assert lost == HOUSES


HANDED_DOWN = {
    "workbench.__version__": "said once, for whoever records it",
    "workbench.find_presenter": "what shows records, which know no view",
}
"""What the package gives to rooms of lower floors; their number only goes down."""


def upward(file: Path) -> Iterator[str]:
    """What a file imports from its own floor or from one above."""
    own = room_of(module_of(file))
    for found in imported(file):
        target = target_of(found.name)
        there = None if target is None else room_of(target)
        if own is None or target is None:
            continue
        if found.name in HANDED_DOWN:
            continue
        if target == "workbench" and STEP[own] < STEP["api"]:
            yield f"{module_of(file)} uses public names of the package"
        if there is None or there == own:
            continue
        fits = FLOOR[there] <= FLOOR[own] if found.is_type else STEP[there] < STEP[own]
        if not fits:
            yield f"{module_of(file)} imports {found.name}"


def test_a_room_imports_lower_floors_only() -> None:
    assert [fault for file in files() for fault in upward(file)] == []


OPEN = {
    "workbench.report": "the rows and records that every floor speaks in",
    "workbench.compiler.internals": "torch's private names, a module for each thing that it does",
    "workbench.views.kit": "what records, panes and worlds show themselves with",
    "workbench.views.wire": "the messages of the view, a type for each, with a twin in TypeScript",
}
"""Rooms of plain types, a vocabulary: whoever names a type of theirs enters. Their number only
goes down; every other room has doors."""


def folder_of(module: str) -> str:
    """The folder of a module; a package stands for its own."""
    is_package = MODULES[module].name == "__init__.py"
    return module if is_package else module.rpartition(".")[0]


def entered() -> dict[str, set[str]]:
    """By folder the modules that files of other folders import, but for those inside of it."""
    found: dict[str, set[str]] = {}
    for file in files():
        own = folder_of(module_of(file))
        for name in imported(file):
            target = target_of(name.name)
            if target is None or target in HOUSES or f"{own}.".startswith(f"{folder_of(target)}."):
                continue
            found.setdefault(folder_of(target), set()).add(target)
    return found


HAS_ALL_WORLDS = all(
    (ROOT / room.replace(".", "/")).exists()
    for room in STEP
    if "worlds." in room and room.count(".") == 1
)
"""Whether no world was deleted: some doors only a world enters."""


def test_a_room_is_entered_by_its_doors_only() -> None:
    modules = entered()
    doors = {room: getattr(import_module(room), "DOORS", None) for room in modules}
    for room, listed in doors.items():
        if listed is not None:
            assert room not in OPEN
            assert len(listed) <= 3
            assert all(sentence.endswith(".") for sentence in listed.values())
            used, known = modules[room] - {room}, {f"{room}.{name}" for name in listed}
            assert used <= known
            assert used == known or not HAS_ALL_WORLDS, known - used
    without = {room for room, listed in doors.items() if listed is None and modules[room] != {room}}
    assert without == set(OPEN)


def foreign(file: Path) -> Iterator[str]:
    """What a file imports of other packages that its room may not."""
    room = room_of(module_of(file)) or ""
    top = next((top for top in OUTSIDE if f"{room}.".startswith(f"{top}.")), "")
    for found in imported(file):
        package = found.name.partition(".")[0]
        if found.is_type or package == "workbench" or package in sys.stdlib_module_names:
            continue
        if package not in OUTSIDE.get(top, {package}):
            yield f"{module_of(file)} imports {package}"


def test_a_room_imports_only_what_it_may_of_other_packages() -> None:
    assert [fault for file in files() for fault in foreign(file)] == []


def test_no_files_import_one_another_in_a_circle() -> None:
    """Imports for type checkers count: who names the other's type cannot be read without it."""
    graph = {
        name: {
            target
            for found in imported(file)
            if (target := target_of(found.name)) not in (None, "workbench", name)
        }
        for name, file in MODULES.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_no_folder_is_crowded() -> None:
    counts: dict[Path, int] = {}
    for file in files():
        counts[file.parent] = counts.get(file.parent, 0) + 1
    crowded = {str(f.relative_to(ROOT)): n for f, n in counts.items() if n > MOST_FILES}
    assert crowded == {}


def test_every_folder_says_in_one_sentence_what_it_holds() -> None:
    for folder in {file.parent for file in files()}:
        text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
        assert text.split("\n")[0].endswith("."), folder


def names_function_of_ours(place: str) -> bool:
    """Whether `module:function` is in a file of ours whose name ends so."""
    module, _, name = place.partition(":")
    defined = (ast.FunctionDef, ast.ClassDef)
    return any(
        isinstance(node, defined) and node.name == name.partition(".")[0]
        for own, file in MODULES.items()
        if f".{own}".endswith(f".{module}")
        for node in ast.parse(file.read_text()).body
    )


def test_no_string_names_a_function_of_ours() -> None:
    """An editor follows a call, not a name."""
    place = re.compile(r"[a-z_][\w.]*:[A-Za-z_][\w.]*")
    found = [
        f"{module_of(file)}: {node.value}"
        for file in files()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and place.fullmatch(node.value)
        and names_function_of_ours(node.value)
    ]
    assert found == []


def names_of_torch(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value if " " not in node.value else ""  # sentences are for people
        elif isinstance(node, ast.Attribute):
            yield ast.unparse(node)
    yield from (found.name for found in imported(file))


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


def test_a_serving_image_needs_no_notebook_packages() -> None:
    run(
        "import sys\n"
        "for name in ('IPython', 'pandas', 'matplotlib', 'ipywidgets', 'anywidget', 'pygments'):\n"
        "    sys.modules[name] = None\n"
        "import workbench as wb\n"
        "wb.load, wb.inspect, wb.check, wb.machine, wb.aot_compile\n"
        "import workbench.artifacts.archive.aot_container, workbench.artifacts.manifest.manifest\n"
        "import workbench.compiler.aot_files.loaded_artifact\n"
    )
