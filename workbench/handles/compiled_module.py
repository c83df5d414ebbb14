"""A compiled module that is itself a module: it takes the original's place in a bigger model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from workbench.compiler.call_plan.plan import CallPlan
from workbench.compiler.internals.surroundings import refuse_fx_trace
from workbench.compiler.request.callables import find_compiled_parts
from workbench.errors import UsageError
from workbench.handles.compiled import Compiled

if TYPE_CHECKING:
    from workbench.compiler.pipeline.pipeline import CompiledCode
    from workbench.handles.base.compiled_base import LateReport, Recipe
    from workbench.report import Report


class CompiledModule(Compiled, torch.nn.Module):
    """Callable compiled module, returned by `aot_compile`, and by `load` if the module is known.

    The parameters, buffers, submodules and hooks are those of the eager module, under the same
    names. A compiled module can replace the eager module, and their state_dicts are
    interchangeable.
    """

    def __init__(
        self, aot_fn: Any, plan: CallPlan, report: Report | LateReport, **rest: Any
    ) -> None:
        # the tables of the original in place of new ones, which Module.__init__ would make
        live = vars(plan.receiver[0])
        own = vars(torch.nn.Module()).keys() - {"training"}
        vars(self).update({name: live[name] for name in own if name in live})
        super().__init__(aot_fn, plan, report, **rest)

    def forward(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the compiled code, as calling the module does."""
        if isinstance(args, torch.fx.Proxy):  # torch.fx calls a copy that takes no *args
            raise UsageError(f"{refuse_fx_trace(self.name)}.")
        return self(*args, **kwargs)

    @property
    def training(self) -> bool:
        """Whether the eager module is in training mode."""
        return bool(self._plan.receiver[0].training)

    @training.setter
    def training(self, mode: bool) -> None:
        self._plan.receiver[0].training = mode

    def train(self, mode: bool = True) -> CompiledModule:
        """Set training or eval mode, or raise `UsageError` if it was compiled in the other mode."""
        if self._plan.contract.training not in (None, mode):
            asked, there = ("train", "evaluation") if mode else ("eval", "training")
            raise UsageError(
                f"{self.name} was compiled for {there}, and {asked}() does not change its code. "
                f"Restore the eager module (.module), or recompile it after {asked}()."
            )
        self._plan.receiver[0].train(mode)
        return self

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Any:
        """What .to(), .cuda(), .half() and their kin do: refused where it changes the contract."""
        for name, tensor in (*self.named_parameters(), *self.named_buffers()):
            with torch.no_grad():
                made = fn(tensor)
            if (made.dtype, made.device) != (tensor.dtype, tensor.device):
                raise UsageError(
                    f"{self.name} was compiled with {name} as {tensor.dtype} on {tensor.device}, "
                    f"so it cannot be converted to {made.dtype} on {made.device}. Convert the "
                    "eager module (.module) and recompile it."
                )
        self._plan.receiver[0]._apply(fn, recurse)
        return self

    def state_dict(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return the eager module's state_dict, with the additions of its class."""
        return self._plan.receiver[0].state_dict(*args, **kwargs)

    def _load_from_state_dict(self, /, *args: Any, **kwargs: Any) -> None:
        self._plan.receiver[0]._load_from_state_dict(*args, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set attributes that the handle lacks on the original module; its guards see them."""
        is_made = "_traced" in vars(self)
        if not is_made or name in vars(self) or hasattr(type(self), name):
            object.__setattr__(self, name, value)
        else:
            setattr(self._plan.receiver[0], name, value)

    def __getattr__(self, name: str) -> Any:
        """Return other attributes of the original module, such as its `config`."""
        plan = vars(self).get("_plan")
        if plan is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(plan.receiver[0], name)

    @property
    def sent_as(self) -> torch.nn.Module:
        """The replacement for this module in a process that compiles a model containing it."""
        return self._plan.receiver[0]  # type: ignore[no-any-return]

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse: machine code cannot be copied or pickled."""
        raise UsageError(
            f"{self.name} is compiled code, which pickle and copy cannot store. Write it with "
            ".save(path), and in a larger model save state_dict() instead of the model."
        )


def wrap_compiled(
    aot_fn: Any, plan: CallPlan, report: Report | LateReport, **rest: Any
) -> Compiled:
    """Return a `CompiledModule` if the module itself is called, otherwise a `Compiled`."""
    is_module = plan.kind == "module" and bool(plan.receiver)
    chosen = CompiledModule if is_module else Compiled
    return chosen(aot_fn, plan, report, **rest)


def make_compiled(code: CompiledCode, recipe: Recipe | None = None) -> Compiled:
    """Return the results of a compilation as a callable."""
    rest = {
        "original": code.original,
        "example": code.example,
        "recipe": recipe,
        "graphs": code.graphs,
    }
    return wrap_compiled(code.aot_fn, code.plan, code.report, **rest)


def unwrap_originals(target: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the eager code of a fully or partly compiled `target`, with notes."""
    if isinstance(target, Compiled):
        if target.original is None:
            raise UsageError(
                f"{target.name} was loaded from a file that does not contain the function. Compile "
                "the function itself."
            )
        return target.original, (
            (f"{target.name} was already compiled; the eager function behind it is compiled again"),
        )
    names = find_compiled_parts(target)
    if not names:
        return target, ()
    return target, (
        f"{', '.join(names)} was already compiled; the eager code behind it is compiled again as "
        "part of this call",
    )
