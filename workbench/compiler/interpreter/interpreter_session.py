"""The user's end of interpreting: kernels of a program go to a process, its buffers are shared."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch

from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.interpreter import interpreter_messages
from workbench.compiler.interpreter.watched.watched_call import Watched
from workbench.compiler.virtual_gpu.client import HIDDEN, list_own_caches
from workbench.processes.worker import Worker, WorkerEnded

RUN_S = 900.0


class Interpreter(Worker):
    """A process that runs kernels on the CPU; it is started by the first one."""

    program = "workbench.compiler.interpreter.interpreter_worker"
    hidden = HIDDEN

    def variables(self) -> Mapping[str, str]:
        """Triton interprets in it, instead of compiling."""
        return {**list_own_caches(), "TRITON_INTERPRET": "1"}

    def define(self, kernel: interpreter_messages.Define) -> None:
        """Send a kernel; to another process where this one has ended meanwhile."""
        try:
            self.tell(kernel)
        except OSError:
            self.close()
            self.tell(kernel)

    def forget(self, message: interpreter_messages.Forget) -> None:
        """Let go of kernels and memory; a process that has ended has none."""
        if self.pid is not None:
            with contextlib.suppress(OSError):
                self.tell(message)

    def run(
        self, launch: interpreter_messages.Run, name: str
    ) -> interpreter_messages.Finished | interpreter_messages.Stopped:
        """Run a kernel that was defined; raises `CaptureError` when the process ends."""
        answer: interpreter_messages.Finished | interpreter_messages.Stopped = self.ask(
            launch, f"run the kernel {name}"
        )
        return answer


def keep_warm_interpreter() -> Interpreter:
    """The interpreter of this process, kept warm: starting it costs seconds. A fork has its own."""
    return _interpreter_of(os.getpid())


@cache
def _interpreter_of(pid: int) -> Interpreter:
    return Interpreter(job_s=RUN_S)


PROGRAMS = ("the forward program", "the backward program")

Edit = Callable[[str, str], str]
"""The name of a kernel or one of `PROGRAMS`, and its source → the source that is run instead."""

Observe = Callable[[str, Mapping[str, Any], frozenset[int] | None], None]
"""A step, the variables that it was given, the storages that it wrote to (None: not known)."""

Before = Callable[[str, tuple[Any, ...]], object]
"""The name of a kernel and its arguments, before it runs."""

Learn = Callable[[str, Watched], object]
"""The name of a kernel, and what a launch of it under watch showed."""


class KernelFailed(Exception):
    """A kernel could not be run to its end; `kernel` is its name."""

    def __init__(self, kernel: str, reason: str):
        super().__init__(reason)
        self.kernel = kernel


class Session:
    """The host of a program: defines and launches its kernels, allocates its buffers."""

    def __init__(
        self,
        interpreter: Interpreter,
        arena: interpreter_messages.Arena,
        edit: Edit | None = None,
        products: interpreter_messages.Products = interpreter_messages.IN_FLOAT32,
        watch_s: float = 0.0,
        repeated: RepeatedLaunches | None = None,
    ):
        """With `repeated`, a launch that was run before, in any session, is not run again."""
        self._repeated = repeated
        self.products = products
        self._interpreter = interpreter
        self._arena = arena
        self._edit = edit
        self._defined: dict[str, tuple[int | None, interpreter_messages.Define]] = {}
        self._written: frozenset[int] | None = None
        self._name = secrets.token_hex(8)  # several sessions may use one interpreter
        self.observer: Observe | None = None
        self.before: Before | None = None
        self.configs: dict[str, str] = {}
        self.watch_s = watch_s
        self.learn: Learn | None = None

    def kernel(self, name: str, source: str, variable: str) -> Kernel:
        """A kernel of the program, by its source; `variable` is its name in the program."""
        text = source if self._edit is None else self._edit(variable, source)
        return self.unedited(name, text, variable)

    def unedited(self, name: str, source: str, variable: str) -> Kernel:
        """A kernel as it was generated."""
        key = f"{self._name} {hashlib.sha256(f'{name}{source}'.encode()).hexdigest()}"
        self._defined.setdefault(key, (None, interpreter_messages.Define(key, name, source)))
        return Kernel(self, key, variable)

    def empty(self, size: Any, stride: Any, dtype: torch.dtype) -> torch.Tensor:
        """A buffer of the program."""
        return self._arena.empty(tuple(size), tuple(stride), dtype)

    def observe(self, step: str, values: Mapping[str, Any]) -> None:
        """Tell the observer of a kernel or library call and the variables it was given."""
        written, self._written = self._written, None
        if self.observer is not None:
            self.observer(step, values, written)

    def close(self) -> None:
        """Have the interpreter forget the kernels and the memory."""
        self._interpreter.forget(
            interpreter_messages.Forget(tuple(self._defined), self._arena.paths)
        )

    def launch(
        self,
        key: str,
        name: str,
        args: tuple[Any, ...],
        named: Mapping[str, Any],
        grid: tuple[int, int, int] | None = None,
    ) -> None:
        """Run a kernel on the interpreter, on its own grid unless another is given.

        Raises `KernelFailed`.
        """
        everything = (*args, *named.values())
        digest = b""
        if self._repeated is not None:
            source = self._defined[key][1].source
            digest = digest_launch(f"{name}\0{source}", [*named], everything, grid, self.products)
            if (result := self._repeated.find(digest, everything)) is not None:
                self.configs[name], self._written = result
                return
        self._define(key)
        moved: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        values = [self._sent(arg, moved) for arg in args]
        options = {n: self._sent(v, moved) for n, v in named.items()}
        try:
            ended = self._interpreter.run(
                interpreter_messages.Run(
                    key, tuple(values), options, grid, self.products, self.watch_s
                ),
                name,
            )
        except WorkerEnded as error:
            raise KernelFailed(
                name, "crashed its process: it accesses memory outside its arguments"
            ) from error
        if ended.watched is not None and self.learn is not None:
            self.learn(name, ended.watched)
        if not isinstance(ended, interpreter_messages.Finished):
            raise KernelFailed(name, ended.reason)
        self.configs[name] = ended.config
        written = {_storage(everything[n]) for n in ended.written}
        for place, (original, copied) in moved.items():
            if place in written:
                size = original.untyped_storage().nbytes()
                view_bytes(original).copy_(view_bytes(copied)[:size])
        self._written = frozenset(written)
        if self._repeated is not None:
            self._repeated.keep(digest, everything, ended.config, self._written)

    def _define(self, key: str) -> None:
        self._interpreter.start()
        process, definition = self._defined[key]
        if process != self._interpreter.pid:  # it is another one after a kernel ended it
            self._interpreter.define(definition)
            self._defined[key] = (self._interpreter.pid, definition)

    def _sent(self, value: Any, moved: dict[int, tuple[torch.Tensor, torch.Tensor]]) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        shared = self._arena.shared(value)
        if shared is not None:
            return shared
        place = _storage(value)
        if place not in moved:
            moved[place] = value, self._arena.moved(value)
        twin = TensorLike.of(value).view(moved[place][1].untyped_storage())
        return self._arena.shared(twin)


@dataclass(frozen=True)
class Kernel:
    """What the program launches."""

    session: Session
    key: str
    name: str

    def run(self, /, *args: Any, **named: Any) -> None:
        """Run it; returns when it is done."""
        options = {name: value for name, value in named.items() if name != "stream"}
        if self.session.before is not None:
            self.session.before(self.name, args)
        self.session.launch(self.key, self.name, args, options)

    def run_on(self, grid: tuple[int, int, int], named: Mapping[str, Any]) -> None:
        """Run it on a grid, as the user's code launches a kernel of its own."""
        self.session.launch(self.key, self.name, (), named, grid)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


_MOST_BYTES = 1 << 30  # of results that are kept


@dataclass(frozen=True)
class _Result:
    """What a launch gave: its configuration, and the bytes of each storage that it wrote to."""

    config: str
    written: Mapping[int, torch.Tensor]


@dataclass
class RepeatedLaunches:
    """Results of launches, shared by sessions whose programs have kernels in common.

    An interpreted kernel gives the same for the same bytes of all tensors that it is given, those
    that it only writes to included. `asked` counts launches, `ran` those that were run.
    """

    asked: int = 0
    ran: int = 0
    _known: dict[bytes, _Result] = field(default_factory=dict)
    _bytes: int = 0

    def find(self, key: bytes, given: Sequence[Any]) -> tuple[str, frozenset[int]] | None:
        """Write what a launch gave before; its configuration, and the storages it wrote to."""
        self.asked += 1
        result = self._known.get(key)
        if result is None:
            self.ran += 1
            return None
        storages = _list_storages(given)
        for place, content in result.written.items():
            view_bytes(storages[place]).copy_(content)
        return result.config, frozenset(_place(storages[place]) for place in result.written)

    def keep(self, key: bytes, given: Sequence[Any], config: str, written: frozenset[int]) -> None:
        """Keep what a launch gave."""
        contents = {
            place: view_bytes(tensor).clone()
            for place, tensor in enumerate(_list_storages(given))
            if _place(tensor) in written
        }
        size = sum(content.numel() for content in contents.values())
        if self._bytes + size <= _MOST_BYTES:
            self._bytes += size
            self._known[key] = _Result(config, contents)


def digest_launch(kernel: str, names: Sequence[str], given: Sequence[Any], *how: Any) -> bytes:
    """What tells a launch apart: the kernel, its arguments, the bytes of all that they lie in."""
    storages = _list_storages(given)
    number = {_place(tensor): n for n, tensor in enumerate(storages)}
    described = [
        (number[_place(value)], TensorLike.of(value)) if isinstance(value, torch.Tensor) else value
        for value in given
    ]
    digest = hashlib.sha256(repr((kernel, tuple(names), described, how)).encode())
    for tensor in storages:
        digest.update(view_bytes(tensor).numpy().data)
    return digest.digest()


def view_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """All bytes of what a tensor lies in."""
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


def _list_storages(arguments: Sequence[Any]) -> list[torch.Tensor]:
    """A tensor for each storage, in the order of the arguments."""
    by_place: dict[int, torch.Tensor] = {}
    for value in arguments:
        if isinstance(value, torch.Tensor):
            by_place.setdefault(_place(value), value)
    return list(by_place.values())


def _place(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
