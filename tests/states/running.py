"""Runs programs before and after their change: eagerly, compiled by torch, by us, loaded.

`python -m tests.states.running FOLDER SEED COUNT` loads what was saved in a folder, and prints a
line for each law that is broken.
"""

from __future__ import annotations

import builtins
import contextlib
import logging
import os
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import workbench as wb
from tests.states.programs import Program, programs

LISTED = {
    # the object is in the file, and a call that leaves it out takes that one: the default of
    # another process, even where it lies at the same name, is another object
    "own default": "default of f",
}
"""What a file cannot ask again, each with the place that it is frozen under, whatever is there."""

INPUTS = ("argument", "object argument", "own default")
"""Kinds of programs whose change is one of an input, of which `check_globals` says nothing."""


# torch.testing forbids to set the flags of backends in the process that imports it, this lifts it
allow_flags = getattr(torch.backends, "__allow_nonbracketed_mutation")  # mangled else


@contextlib.contextmanager
def state_kept() -> Iterator[None]:
    """Set back what the changes of programs set in the whole process."""
    with allow_flags():
        yield from _state_kept()


def _state_kept() -> Iterator[None]:
    cudnn, environ = torch.backends.cudnn, dict(os.environ)
    flags = cudnn.benchmark, cudnn.enabled, torch.backends.mkldnn.enabled
    divided = builtins.divmod
    tf32, grad = torch.backends.cuda.matmul.allow_tf32, torch.is_grad_enabled()
    dtype = torch.get_default_dtype()
    deterministic = torch.are_deterministic_algorithms_enabled()
    try:
        yield
    finally:
        builtins.divmod = divided
        cudnn.benchmark, cudnn.enabled, torch.backends.mkldnn.enabled = flags
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(dtype)
        torch.use_deterministic_algorithms(deterministic)
        for name in set(os.environ) - set(environ):
            del os.environ[name]
        os.environ.update(environ)


def name_of(program: Program, tag: str = "") -> str:
    """The name of its module."""
    return f"state_program_{program.name}{tag}"


def written(program: Program, folder: Path, tag: str = "") -> str:
    """Write the module of a program, and the one whose variables it may read; its name."""
    name = name_of(program, tag)
    (folder / f"{name}.py").write_text(program.source.replace("{m}", name))
    (folder / f"{name}_state.py").write_text("")
    return name


def answer(call: Any, module: types.ModuleType, program: Program) -> Any:
    """What a call gives, or the exception that it raises."""
    try:
        return call(*eval(program.call, vars(module)))
    except Exception as error:  # whatever the program raises
        return error


def is_same(one: Any, other: Any) -> bool:
    """Whether two answers are the same; two errors are."""
    if isinstance(one, Exception) or isinstance(other, Exception):
        return isinstance(one, Exception) and isinstance(other, Exception)
    return one.dtype == other.dtype and torch.equal(
        torch.nan_to_num(one.detach()), torch.nan_to_num(other.detach())
    )


def is_refused(answer: Any) -> bool:
    """Whether the workbench refused the call."""
    return isinstance(answer, wb.WorkbenchError)


@dataclass(frozen=True)
class Outcome:
    """What became of one program; `fault` is a sentence where a law was broken."""

    program: Program
    fault: str | None = None
    captured: bool = True
    refused: bool = False


def torch_notices(program: Program, folder: Path) -> bool:
    """Whether plain torch.compile gives what eager gives after the change."""
    with state_kept():
        module = _imported(written(program, folder, "_torch"))
        compiled = torch.compile(module.f, backend="eager")
        answer(compiled, module, program)
        exec(program.change, vars(module))
        found = answer(compiled, module, program)
        return is_same(answer(module.f, module, program), found)


def _unnoticed(program: Program, folder: Path) -> Path:
    """The file that is there when torch.compile did not notice the change of a program."""
    return folder / f"{name_of(program)}.unnoticed"


def live(program: Program, folder: Path) -> Outcome:
    """Compile, save, change, call: the same as eager, or refused; no verdict on it is a wrong ok.

    What plain torch.compile does not notice either is no fault.
    """
    with state_kept():
        module = _imported(written(program, folder))
        before = answer(module.f, module, program)
        try:
            inputs = eval(program.call, vars(module))
            compiled = wb.aot_compile(module.f, inputs, backend="eager", capture="light")
        except wb.WorkbenchError:
            return Outcome(program, captured=False)
        found = answer(compiled, module, program)
        if not is_same(before, found):
            return Outcome(program, f"unchanged: {found!r} in place of {before!r}")
        changed = [f"{n}: {v}" for n, v in compiled.check_globals().items() if v != "ok"]
        if changed:
            return Outcome(program, f"unchanged: {changed}")
        with contextlib.suppress(wb.ArtifactError):  # local classes, weak references
            compiled.save(folder / f"{name_of(program)}.aot")
        exec(program.change, vars(module))
        expected, found = (answer(call, module, program) for call in (module.f, compiled))
        if is_refused(found):
            said = set(compiled.check_globals().values())
            is_silent = said == {"ok"} and not program.kind.startswith(INPUTS)
            silent = f"check_globals says ok, the call: {found}" if is_silent else None
            return Outcome(program, silent, refused=True)
    if is_same(expected, found):
        return Outcome(program)
    if not torch_notices(program, folder):
        _unnoticed(program, folder).touch()
        return Outcome(program)
    return Outcome(program, f"live: {found!r} in place of {expected!r}")


def loaded(program: Program, folder: Path) -> str | None:
    """Load what was saved, call, change, call: a sentence where a law was broken."""
    file = folder / f"{name_of(program)}.aot"
    with state_kept():
        module = _imported(name_of(program))
        try:
            compiled = wb.load(file, trust=True, external_data=_handed_over(module))
        except wb.WorkbenchError as error:
            return f"not loaded where nothing had changed: {error}"
        before, found = (answer(call, module, program) for call in (module.f, compiled))
        if not is_same(before, found):
            return f"loaded, unchanged: {found!r} in place of {before!r}"
        exec(program.change, vars(module))
        expected, found = (answer(call, module, program) for call in (module.f, compiled))
        verdicts = compiled.check_globals()
    if is_refused(found):
        is_silent = set(verdicts.values()) == {"ok"} and not program.kind.startswith(INPUTS)
        return f"check_globals says ok, the call: {found}" if is_silent else None
    if is_same(expected, found) or _is_listed(program, verdicts):
        return None
    if _unnoticed(program, folder).exists() or not torch_notices(program, folder):
        return None
    return f"loaded: {found!r} in place of {expected!r}"


def _is_listed(program: Program, verdicts: Mapping[str, str]) -> bool:
    """Whether the file says under its place that what was changed is frozen."""
    places = (place for kind, place in LISTED.items() if program.kind.startswith(kind))
    return any(
        place in name and verdict.startswith("frozen at capture: ")
        for place in places
        for name, verdict in verdicts.items()
    )


def _handed_over(module: types.ModuleType) -> dict[str, Any]:
    """The modules among the globals, which no file of a function holds."""
    values = vars(module).items()
    return {name: value for name, value in values if isinstance(value, torch.nn.Module)}


def _imported(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    for each in (f"{name}_state", name):
        module = types.ModuleType(each)
        folder = next(Path(p) for p in sys.path if (Path(p) / f"{each}.py").exists())
        module.__file__ = str(folder / f"{each}.py")
        sys.modules[each] = module
        exec(compile((folder / f"{each}.py").read_text(), module.__file__, "exec"), vars(module))
    return module


def main(folder: str, seed: str, count: str) -> None:
    """Load every program that was saved."""
    logging.disable(logging.WARNING)
    sys.path.insert(0, folder)
    for program in programs(int(seed), int(count)):
        if (Path(folder) / f"{name_of(program)}.aot").exists():
            fault = loaded(program, Path(folder))
            if fault is not None:
                print(f"{program.kind} | {program.change} | {fault}".replace("\n", " "))


if __name__ == "__main__":
    main(*sys.argv[1:])
