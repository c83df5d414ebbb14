"""The unsharded model, run once: its outputs, its gradients, the same in double precision."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import copy_all_inputs
from workbench.compiler.call_state.random_states import keep_random_state
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.internals import torch_private as tp
from workbench.errors import UsageError, read_first_line

LOSSES = ("mean", "sum")
"""How the losses of ranks with different parts of an output make up that of the whole."""

_SEED = 20


@dataclass(frozen=True)
class Results:
    """What the unsharded model gives: outputs by their places, gradients of parameters by name."""

    outputs: Mapping[str, Any]
    gradients: Mapping[str, torch.Tensor | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Whole:
    """The unsharded model's results, `exact` the same in double precision where it has them.

    `weights` weigh the outputs in the loss whose gradients are compared; `learned` are the
    parameters.
    """

    name: str
    results: Results
    exact: Results | None
    weights: Mapping[str, torch.Tensor]
    loss: str
    learned: Mapping[str, torch.Tensor]

    @classmethod
    def of(
        cls,
        reference: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        *,
        grad: bool,
        loss: str,
    ) -> Whole:
        """Run the reference, with gradients if `grad`.

        Raises `UsageError` where it cannot be run on these inputs, is on meta or draws random
        numbers.
        """
        name = getattr(reference, "__name__", type(reference).__name__)
        module = reference if isinstance(reference, torch.nn.Module) else None
        tensors = [*(module.parameters() if module else ()), *tp.TREE_LEAVES.get()((args, kwargs))]
        if any(isinstance(leaf, torch.Tensor) and leaf.is_meta for leaf in tensors):
            raise UsageError(
                f"The reference {name}, or an input of it, is on meta and has no numbers. Build it "
                "on the CPU, with the values that build gives the ranks."
            )
        with keep_random_state():
            before = torch.get_rng_state()
            try:
                results, weights = _run_whole(reference, module, args, kwargs, grad=grad)
            except (RuntimeError, TypeError, ValueError) as error:
                raise UsageError(
                    f"The reference {name} cannot be run on the inputs of this call "
                    f"({read_first_line(error)}). Those of verify are the unsharded call's."
                ) from error
            if not torch.equal(before, torch.get_rng_state()):
                raise UsageError(
                    f"The reference {name} draws random numbers, and ranks draw others. Compare "
                    "with model.eval(), or leave reference out."
                )
            exact = _run_in_double(reference, module, args, kwargs, grad=grad)
        return cls(name, results, exact, weights, loss, list_learned(module))


def _run_whole(
    reference: Callable[..., Any],
    module: torch.nn.Module | None,
    args: Any,
    kwargs: Any,
    *,
    grad: bool,
) -> tuple[Results, dict[str, torch.Tensor]]:
    given, named = copy_all_inputs(args, kwargs)
    buffers = {n: b.detach().clone() for n, b in (module.named_buffers() if module else ())}
    with torch.set_grad_enabled(grad):
        outputs = name_leaves(reference(*given, **named))
    weights = {name: _weigh(n, leaf) for n, (name, leaf) in enumerate(outputs.items())}
    learned = list_learned(module) if grad else {}
    gradients = differentiate(outputs, weights, learned)
    with torch.no_grad():
        for name, buffer in module.named_buffers() if module else ():
            buffer.copy_(buffers[name])
    return Results({n: _detached(leaf) for n, leaf in outputs.items()}, gradients), weights


def _run_in_double(
    reference: Any, module: torch.nn.Module | None, args: Any, kwargs: Any, *, grad: bool
) -> Results | None:
    wide = tp.TREE_MAP.get()(
        lambda leaf: (
            leaf.double() if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf
        ),
        (args, dict(kwargs)),
    )
    try:
        twin = None if module is None else copy.deepcopy(module).double()
        return _run_whole(twin or reference, twin, *wide, grad=grad)[0]
    except (RuntimeError, TypeError, ValueError, NotImplementedError):
        return None  # its code may name a dtype


def name_leaves(output: Any) -> dict[str, Any]:
    """The leaves of an output by their places."""
    return {str(path): leaf for path, leaf in leaves(output, Path("output"))}


def _weigh(number: int, leaf: Any) -> torch.Tensor:
    shape = leaf.shape if isinstance(leaf, torch.Tensor) else ()
    return torch.randn(shape, generator=torch.Generator().manual_seed(_SEED + number))


def list_learned(module: torch.nn.Module | None) -> dict[str, torch.Tensor]:
    """Parameters by the names that they have in the unsharded model."""
    return {
        name.replace("parametrizations.", "").removesuffix(".original").replace("_orig_mod.", ""): p
        for name, p in (module.named_parameters() if module is not None else ())
        if p.requires_grad
    }


def differentiate(
    outputs: Mapping[str, Any], weights: Mapping[str, Any], learned: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor | None]:
    """Gradients of parameters by name, of outputs that are weighed."""
    known = [
        (leaf, weights[name].to(leaf.dtype))
        for name, leaf in outputs.items()
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad and name in weights
    ]
    if not known or not learned:
        return {}
    given = torch.autograd.grad(
        [leaf for leaf, _ in known],
        list(learned.values()),
        [weight for _, weight in known],
        allow_unused=True,
    )
    return {n: None if g is None else g.detach() for n, g in zip(learned, given, strict=True)}


def _detached(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf
