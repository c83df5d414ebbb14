"""What a user asks of a compilation, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from workbench.arguments import shown
from workbench.device_kinds import TARGETS
from workbench.errors import UsageError, suggest
from workbench.report.collectives.shard_groups import ShardedModel
from workbench.settings import Settings

if TYPE_CHECKING:
    from workbench.report import Report
    from workbench.specs import Catalogue, Gpu

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
GUARD_POLICIES = ("portable", "strict")
CAPTURE_LEVELS = ("full", "light")
Backend = str | Callable[..., Any]
GuardFilter = Callable[[Any], Any]
Operations = frozenset[str]
"""Ids of scheduler nodes before fusion, such as "i0:op1"."""
Pair = tuple[Operations, Operations]
Rows = tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]


@dataclass(frozen=True)
class FusionChoice:
    """Pairs of operations that must stay apart, and pairs that should be fused.

    `alone` are nodes of lowered graphs, such as "i0:mul": each writes its value, and is fused with
    no other of them.
    """

    forbid: tuple[Pair, ...] = field(default=())
    force: tuple[Pair, ...] = field(default=())
    alone: frozenset[str] = frozenset()

    def has(self, pairs: tuple[Pair, ...], a: Operations, b: Operations) -> bool:
        """Whether two groups hold the two ends of one of the pairs."""
        return any((one & a and two & b) or (one & b and two & a) for one, two in pairs)

    def rows(self) -> Rows:
        """The pairs as `Request.fusion` holds them."""
        named = [("forbid", pair) for pair in self.forbid] + [("force", p) for p in self.force]
        rows = tuple((word, tuple(sorted(a)), tuple(sorted(b))) for word, (a, b) in named)
        return (*rows, ("alone", tuple(sorted(self.alone)), ())) if self.alone else rows

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[Any]]) -> FusionChoice:
        """The pairs out of these rows, as JSON gives them back, too."""
        by_word: dict[str, list[Pair]] = {"forbid": [], "force": [], "alone": []}
        for word, a, b in rows:
            by_word[word].append((frozenset(a), frozenset(b)))
        alone = frozenset(name for names, _ in by_word["alone"] for name in names)
        return cls(tuple(by_word["forbid"]), tuple(by_word["force"]), alone)


def list_operations(report: Report, name: str) -> Operations:
    """The operations that a kernel, a scheduler node or an FX node names.

    Raises `UsageError` for a name that is not in the report.
    """
    before = [node for node in report.scheduler_nodes if node.phase == "before"]
    operations = {node.id for node in before if name in (node.id, node.name)}
    operations |= {node.id for node in before if any(name in (o, _last(o)) for o in node.origins)}
    for kernel in report.kernels:
        if name in (kernel.id, kernel.name):
            operations.update(kernel.scheduler_nodes)
    if not operations:
        kernels = ", ".join(kernel.id for kernel in report.kernels) or "none"
        raise UsageError(
            f"{name!r} is neither a kernel ({kernels}) nor an operation. "
            "report.frame('scheduler_nodes') lists operations, with FX nodes in the column "
            "origins."
        )
    return frozenset(operations)


def list_lowered_nodes(report: Report, kernel: str) -> frozenset[str]:
    """The nodes of the lowered graphs that a generated kernel computes, such as "i0:mul".

    Raises `UsageError` for a name that is no such kernel.
    """
    kernels = [row for row in report.kernels if kernel in (row.id, row.name) and row.is_generated]
    if not kernels:
        ids = ", ".join(row.id for row in report.kernels if row.is_generated) or "none"
        raise UsageError(f"{kernel!r} is not a generated kernel: expected one of {ids}.")
    own = {name for row in kernels for name in row.scheduler_nodes}
    return frozenset(
        f"{node.graph}:{_last(origin)}"
        for node in report.scheduler_nodes
        if node.phase == "before" and node.id in own
        for origin in node.origins
    )


def _last(id: str) -> str:
    return id.rpartition(":")[2]


@dataclass(frozen=True)
class CompileOptions:
    """The keyword arguments of `aot_compile`; raises `UsageError` for a value that cannot be."""

    backend: Backend = "inductor"
    mode: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    dynamic_shapes: Any = None
    grad: bool | None = None
    target: str = "host"
    guards: str | GuardFilter = "portable"
    capture: str = "full"
    fusion: FusionChoice | None = None
    dynamic: bool | None = None
    notes: tuple[str, ...] = ()
    budgets: tuple[float, ...] = ()  # activation memory budgets that are looked at besides
    counts_eager: bool = False  # count what eager would hold instead of compiling
    blocks: tuple[tuple[str, str], ...] = ()  # paths of modules, and the program that each is in
    shards: ShardedModel | None = None  # what a rank holds and gathers of their parameters

    def __post_init__(self) -> None:
        check_mapping("options", self.options, "{'max_autotune': True}")
        require_one_of("mode", self.mode, (None, *MODES))
        _ = self.gpu
        require_one_of("capture", self.capture, CAPTURE_LEVELS)
        if not callable(self.guards):
            require_one_of("guards", self.guards, GUARD_POLICIES, " or a guard filter function")
        if not isinstance(self.backend, str) and not callable(self.backend):
            raise UsageError(
                f"backend is {self.backend!r}: expected a name such as 'inductor' or a callable "
                "(graph_module, example_inputs) -> serialisable callable."
            )
        if self.grad not in (None, True, False):
            raise UsageError(f"grad is {self.grad!r}: expected None, True or False.")

    @property
    def gpu(self) -> Gpu | None:
        """The virtual GPU that is compiled for; None for a device of this machine."""
        if self.target in TARGETS:
            return None
        try:
            return list_known_gpus()[self.target]
        except UsageError as error:
            choices = ", ".join(repr(name) for name in TARGETS)
            raise UsageError(
                f"target is {self.target!r}: expected {choices} or a GPU. {error}"
            ) from error

    @property
    def backend_name(self) -> str:
        """The backend as a name for people."""
        return _name(self.backend)

    @property
    def guards_name(self) -> str:
        """The guard policy as a name for people."""
        return _name(self.guards)


@dataclass(frozen=True)
class CompileRequest:
    """A call to compile: what is called, its example inputs, and what is asked."""

    target: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    options: CompileOptions = field(default_factory=CompileOptions)

    @classmethod
    def of(cls, target: Any, args: Any, kwargs: Any, options: CompileOptions) -> Self:
        """The request of a user; raises `UsageError` for inputs that are no tuple, list or dict."""
        check_args(args, kwargs)
        return cls(target, tuple(args), dict(kwargs or {}), options)

    @property
    def inputs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The example inputs by position and by name."""
        return self.args, dict(self.kwargs)


def _name(chosen: str | Callable[..., Any]) -> str:
    return chosen if isinstance(chosen, str) else getattr(chosen, "__name__", type(chosen).__name__)


def list_known_gpus() -> Catalogue:
    """The GPUs that can be a target: those that come along, and those that the user described."""
    from workbench.specs import Catalogue  # a load that checks no target does without it

    return Catalogue.of_user(Settings.from_environment().data_folder)


def check_args(args: object, kwargs: object = None) -> None:
    """Raise `UsageError` where inputs by position are no tuple or list, those by name no dict."""
    if not isinstance(args, tuple | list):
        raise UsageError(
            f"args is a {type(args).__name__}: expected a tuple of example inputs, such as (x,)."
        )
    check_mapping("kwargs", kwargs, "{'x': x}")


def check_mapping(name: str, value: object, such_as: str) -> None:
    """Raise `UsageError` for what is neither a mapping nor None."""
    if value is not None and not isinstance(value, Mapping):
        kind = type(value).__name__
        raise UsageError(f"{name} is of type {kind}: expected a dict, such as {such_as}.")


def require_one_of(name: str, value: object, allowed: Iterable[object], more: str = "") -> None:
    """Raise `UsageError` for a value that is not among the allowed ones; `more` adds to them."""
    allowed = tuple(allowed)
    if not any(isinstance(value, type(one)) and value == one for one in allowed):
        choices = ", ".join(repr(a) for a in allowed)
        raise UsageError(
            f"{name} is {shown(value)}: expected one of {choices}{more}.{suggest(value, allowed)}"
        )
