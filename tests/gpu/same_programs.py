"""Forty programs on the device and without it: their code, and their numbers against float64.

`python -m tests.gpu.same_programs`; each program is compiled once for the virtual GPU and once on
the device, which serves both comparisons. Several processes share the programs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

import workbench as wb
from tests.gpu import accuracy, differences
from tests.gpu.accuracy import Errors
from tests.gpu.differences import Same
from tests.gpu.figures import reason, run_steps
from tests.gpu.programs import WITHOUT_NUMBERS, Program, moved, programs
from workbench.compiler.comparison.judgement import Judge, Tolerance
from workbench.compiler.comparison.trial import pairs, subject_of
from workbench.compiler.interpreter.interpreter_session import Interpreter
from workbench.compiler.interpreter.verification import Question, verify_program
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.handles.cross_compiled import CrossCompiled, compile_for_gpu
from workbench.handles.devices.local_gpu import describe_local_gpu
from workbench.specs import Gpu

SECONDS = 120
"""No program is begun later: what it leaves out is said."""
LAST_S = 170
"""A process that is still at work is ended: what it has told by then is kept."""
_SHARES = 8  # processes at most; each has two of its own, which import torch for most of a minute
_FOUND = "found: "
_TOO_LATE = "the time of this part was over"
_BY_TIME = "a device chooses its templates by timing them"


@dataclass
class Found:
    """The rows of both comparisons, and which programs are in none and why."""

    same: list[Same] = field(default_factory=list)
    errors: list[Errors] = field(default_factory=list)
    no_code: dict[str, str] = field(default_factory=dict)
    no_numbers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparing:
    """A device by torch's name, the GPU that it is, and the processes that work without it."""

    device: str
    gpu: Gpu
    worker: CrossCompiler
    interpreter: Interpreter
    backend: str = "inductor"

    def of(self, program: Program, found: Found) -> None:
        """Compare one program; an error of it is the reason why it is in no comparison."""
        try:
            virtual = self._virtual(program)
            here = self._on_device(program)
        except Exception as error:
            found.no_code[program.name] = found.no_numbers[program.name] = reason(error)
            return
        if program.is_timed:
            found.no_code[program.name] = _BY_TIME
        else:
            found.same += differences.compared(program.name, here.report, virtual.report)
        if program.name in WITHOUT_NUMBERS:
            found.no_numbers[program.name] = WITHOUT_NUMBERS[program.name]
            return
        try:
            found.errors += self._errors(program, virtual, here)
        except Exception as error:
            found.no_numbers[program.name] = reason(error)

    def _virtual(self, program: Program) -> CrossCompiled:
        fn, args = program.made()
        asked: dict[str, Any] = {"options": dict(program.inductor), **program.settings}
        return compile_for_gpu(
            CompileRequest(fn, args, options=CompileOptions(**asked)), self.gpu, worker=self.worker
        )

    def _on_device(self, program: Program) -> Any:
        fn, args = moved(*program.made(), self.device)
        settings = {"options": dict(program.inductor) or None, **program.settings}
        if self.backend != "inductor":
            settings.pop("options")
        return wb.aot_compile(fn, args, backend=self.backend, **settings)

    def _errors(self, program: Program, virtual: CrossCompiled, here: Any) -> list[Errors]:
        fn, args = program.made()
        exact = in_double(fn, args)
        question = Question(args, reference=exact)
        interpreted = verify_program(virtual.program, fn, question, self.interpreter)
        # parameters are not among the roots: those of the device are others than the original's
        subject = subject_of(fn, args, {}, roots=())
        runs = subject.run(exact), subject.run(self._device_call(here))
        judge = Judge(Tolerance(grows=True))
        by_leaf = {row.leaf: row for row in judge.compare(list(pairs(subject, *runs)))}
        return [
            Errors(
                program.name,
                row.leaf,
                row.dtype,
                row.max_abs_error,
                other.max_abs_error,
                row.verdict,
                other.verdict,
                row.atol,
                row.rtol,
                row.reason or other.reason,
            )
            for row in interpreted.rows
            if (other := by_leaf.get(row.leaf)) is not None
        ]

    def _device_call(self, compiled: Any) -> Callable[..., Any]:
        """The compiled code for tensors of the CPU; gradients flow back through the copies."""

        def call(*args: Any) -> Any:
            there = [a.to(self.device, copy=True) if isinstance(a, Tensor) else a for a in args]
            return _mapped(compiled(*there), lambda leaf: leaf.to("cpu", copy=True))

        return call


def in_double(fn: Callable[..., Any], args: Sequence[Any]) -> Callable[..., Any]:
    """The function computing in float64; its results have the dtypes of a usual call."""
    with torch.no_grad():
        usual = fn(*(a.clone() if isinstance(a, Tensor) else a for a in args))
    dtypes = dtypes_of(usual)

    def call(*given: Any) -> Any:
        wide = [_wide(a) for a in given]
        if isinstance(fn, nn.Module):
            state = {**dict(fn.named_parameters()), **dict(fn.named_buffers())}
            weights = {name: _wide(tensor) for name, tensor in state.items()}
            found = torch.func.functional_call(fn, weights, tuple(wide))
        else:
            found = fn(*wide)
        left = iter(dtypes)
        return _mapped(found, lambda leaf: leaf.to(next(left)))

    return call


def dtypes_of(value: Any) -> list[torch.dtype]:
    """The dtypes of the tensors in a result, in their order."""
    found: list[torch.dtype] = []

    def note(leaf: Tensor) -> Tensor:
        found.append(leaf.dtype)
        return leaf

    _mapped(value, note)
    return found


def _wide(value: Any) -> Any:
    is_float = isinstance(value, Tensor) and value.is_floating_point()
    return value.double() if is_float else value


def _mapped(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """A result with each of its tensors changed, in their order."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple | list):
        return type(value)(_mapped(each, change) for each in value)
    return value


def compare_all(comparing: Comparing, wanted: Sequence[Program], seconds: float) -> Found:
    """Every program that is begun in time."""
    found, end = Found(), time.monotonic() + seconds
    for program in wanted:
        if time.monotonic() > end:
            found.no_code[program.name] = found.no_numbers[program.name] = _TOO_LATE
            continue
        comparing.of(program, found)
    return found


def compare_share(device: str, number: int, of: int) -> None:
    """Compare every `of`-th program in this process; a line for each, as it is done."""
    torch.backends.cudnn.allow_tf32 = False  # its rounding is not the interpreter's
    gpu = describe_local_gpu()[0].spec
    worker, interpreter = CrossCompiler(start_s=100, job_s=60), Interpreter(job_s=60)
    end = time.monotonic() + SECONDS
    try:
        comparing = Comparing(device, gpu, worker, interpreter)
        for program in programs()[number::of]:
            found = compare_all(comparing, [program], end - time.monotonic())
            print(f"{_FOUND}{json.dumps(asdict(found))}", flush=True)
    finally:
        worker.close()
        interpreter.close()


def run_shares(device: str, shares: int) -> Found:
    """Compare all programs, each share in a process of its own: one may end otherwise than well."""
    commands = [
        [sys.executable, "-m", __spec__.name, "--share", device, str(number), str(shares)]
        for number in range(shares)
    ]
    with ThreadPoolExecutor(shares) as pool:
        ended = list(pool.map(read_share, commands))
    whole = Found()
    for number, (found, why) in enumerate(ended):
        whole.same += found.same
        whole.errors += found.errors
        whole.no_code |= found.no_code
        whole.no_numbers |= found.no_numbers
        told = {*found.no_code, *found.no_numbers, *(row.program for row in found.same)}
        lost = {program.name: why for program in programs()[number::shares]}
        lost = {name: why for name, why in lost.items() if name not in told}
        whole.no_code |= lost
        whole.no_numbers |= lost
    return whole


def read_share(command: Sequence[str], last_s: float = LAST_S) -> tuple[Found, str]:
    """What a process has told, and how it ended."""
    whole, said = Found(), ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(last_s, process.kill)
        timer.start()
        for line in process.stdout or ():
            if not line.startswith(_FOUND):
                said = line.strip() or said
                continue
            told = json.loads(line.removeprefix(_FOUND))
            whole.same += [Same(**row) for row in told["same"]]
            whole.errors += [Errors(**row) for row in told["errors"]]
            whole.no_code |= told["no_code"]
            whole.no_numbers |= told["no_numbers"]
    timer.cancel()
    return whole, f"its process ended with exit code {process.returncode}: {said}"


def main(arguments: Sequence[str]) -> int:
    """Compare all on the current device, or one share of them."""
    if arguments[:1] == ["--share"]:
        compare_share(arguments[1], int(arguments[2]), int(arguments[3]))
        return 0
    found = run_shares("cuda", min(_SHARES, max(1, (os.cpu_count() or 1) // 2)))
    return run_steps(
        {
            "identical": lambda: differences.tell(found.same, found.no_code),
            "interpreter": lambda: accuracy.tell(found.errors, found.no_numbers),
        }
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
