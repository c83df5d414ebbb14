"""What torch assumes about sizes while it compiles, tried on the compiled library.

It takes sizes of 0 and 1 for impossible, and while it chooses kernels it may suppose that a size is
below some number, as the example is. Such sizes are run, and compared with the module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import restore_state
from workbench.compiler.comparison.judgement import Judge, LeafPair, follow
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.packaging.contracts import ExportedContract
from workbench.compiler.packaging.exporting import Exportable, Exported
from workbench.compiler.packaging.inductor_library import Built, map_tensors_by_name
from workbench.compiler.sizes.dims import Dynamic, read_relations
from workbench.device_kinds import GPU
from workbench.errors import ArtifactError

_SAFE = 2  # the least size that torch does not take for impossible
_FURTHEST = 4096  # up to here a size is looked for that breaks an assumption
_WRONG = (
    "calls are refused unless {}, which torch assumed when it chose kernels; for other sizes "
    "the compiled code is wrong, so give an example of another size"
)
_UNTRIED = (
    "calls are refused unless {}, which torch assumed for the example; give an example of another "
    "size, or package on a machine with the GPU, which can test other sizes"
)
_DEMANDED = "calls are refused unless {}: the model itself supports no other size"
_MULTIPLE = "; declare {} * Dim('k') instead of {} to state this"
_STEPS = 64  # up to here a number is looked for whose multiples are what the model takes


def tried(
    subject: Exportable, exported: Exported, built: Built, contract: ExportedContract
) -> tuple[ExportedContract, tuple[str, ...]]:
    """The contract with what the library is right for, and notes for the user.

    Where torch captured the program for any size, the small ones need no trial.
    """
    small = {name: low for name, (low, _) in contract.ranges.items() if low < _SAFE}
    small = {} if exported.any_size else small
    doubts = list(_doubts(built.assumed, contract))
    if not small and not doubts:
        return contract, ()
    trial = _SizeRuns(subject, contract, _runner(exported.program, built))
    lows = {name: trial.lowest(name, low) for name, low in small.items()}
    if len(lows) > 1 and not trial.agrees(lows):
        lows = dict.fromkeys(lows, _SAFE)
    wrong = {text: sizes for text, sizes in doubts if not trial.agrees(sizes)}
    honest = replace(contract.starting_at(lows), guards=(*contract.guards, *wrong))
    sentences = (
        _WRONG.format(text) if trial.takes(sizes) else _demanded(text, contract)
        for text, sizes in wrong.items()
    )
    notes = (*_raised(honest), *sentences)
    return honest, notes


def build_untried_contract(
    exported: Exported, built: Built, contract: ExportedContract
) -> tuple[ExportedContract, tuple[str, ...]]:
    """The contract of a library that cannot be run here: whatever would be tried is refused.

    Where torch did not capture the program for any size, each starts at 2, and what it supposed
    about sizes while it chose kernels is a guard.
    """
    lows = {name: _SAFE for name, (low, _) in contract.ranges.items() if low < _SAFE}
    wrong = [text for text, _ in _doubts(built.assumed, contract)]
    honest = contract.starting_at({} if exported.any_size else lows)
    honest = replace(honest.on_device(GPU), guards=(*contract.guards, *wrong))
    return honest, (*_raised(honest), *(_UNTRIED.format(text) for text in wrong))


def _demanded(text: str, contract: ExportedContract) -> str:
    """The note on sizes that eager mode refuses too, such as 7 for `reshape(6, -1)`."""
    (relation,) = read_relations((text,), list(contract.ranges))
    (name,) = (name for name in contract.ranges if re.search(rf"\b{name}\b", text))
    step = next((n for n in range(1, _STEPS + 1) if relation.holds({name: n})), 1)
    sizes = range(1, 4 * step + 1)
    if step == 1 or any(relation.holds({name: n}) != (n % step == 0) for n in sizes):
        return _DEMANDED.format(text)
    return _DEMANDED.format(f"{name} is a multiple of {step}") + _MULTIPLE.format(step, name)


def _raised(contract: ExportedContract) -> dict[str, None]:
    """A sentence for each dimension that starts at 2, but was not declared to."""
    sizes = (size for leaf in contract.contract.leaves or () for size in leaf.shape)
    raised = (size for size in sizes if isinstance(size, Dynamic) and size.is_raised)
    return {size.starts_at_two: None for size in raised if (size.min or 0) > 1}


def _doubts(
    assumed: Sequence[str], contract: ExportedContract
) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Each assumption that a declared size breaks, with the least such size."""
    for text in assumed:
        try:
            (relation,) = read_relations((text,), list(contract.ranges))
        except ArtifactError:
            continue
        names = [name for name in contract.ranges if re.search(rf"\b{name}\b", text)]
        if len(names) != 1:
            continue
        low, high = contract.ranges[names[0]]
        last = min(_FURTHEST if high is None else high, _FURTHEST)
        sizes = ({names[0]: size} for size in range(max(low, _SAFE), last + 1))
        broken = next((size for size in sizes if not relation.holds(size)), None)
        if broken is not None:
            yield text, broken


def _runner(program: Any, built: Built) -> Any:
    """The library with its weights, without any check of its own, called with the flat inputs."""
    path, device = built.files[built.named(".so") or ""], built.library.device
    if device == "cpu":
        runner = tp.AOTI_CPU_RUNNER.get()(str(path), 1)
    else:
        runner = tp.AOTI_CUDA_RUNNER.get()(str(path), 1, device, str(path.parent))
    if not built.has_weights:
        runner.update_constant_buffer(map_tensors_by_name(built.library, program), False, True)
    return runner


@dataclass(frozen=True)
class _SizeRuns:
    """Runs of library and module with the example inputs cut to other sizes."""

    found: Exportable
    contract: ExportedContract
    runner: Any

    def lowest(self, name: str, declared: int) -> int:
        """The least size, not below the declared one, down to which both give the same."""
        low = _SAFE
        while low > declared and self.agrees({name: low - 1}):
            low -= 1
        return low

    def takes(self, sizes: Mapping[str, int]) -> bool:
        """Whether the module itself runs with inputs of these sizes."""
        args, kwargs = self._call(list(self._cut(sizes)))
        try:
            with torch.no_grad(), restore_state(self.found.module, gpus=()):
                self.found.module(*args, **kwargs)
        except (RuntimeError, ValueError, IndexError, TypeError):
            return False
        return True

    def _call(self, leaves: list[Any]) -> tuple[Any, Any]:
        request = self.found.request
        _, spec = tp.TREE_FLATTEN.get()((tuple(request.args), dict(request.kwargs)))
        args, kwargs = tp.TREE_UNFLATTEN.get()(leaves, spec)
        return args, kwargs

    def agrees(self, sizes: Mapping[str, int]) -> bool:
        """Whether library and module give and write the same for inputs of these sizes."""
        leaves = list(self._cut(sizes))
        flat = [leaf.clone() for leaf in leaves if isinstance(leaf, torch.Tensor)]
        try:
            expected = self._run_module(leaves)
            actual = self.runner.run(flat)
        except (RuntimeError, ValueError, IndexError, TypeError):
            return False  # the module cannot do it either, or the library refuses it
        results = [*actual, *flat]
        if len(expected) != len(results):
            return False

        sides = zip(_name(expected).items(), results, strict=True)
        pairs = [LeafPair(name, left, _like(left, right)) for (name, left), right in sides]
        rows = Judge(again=follow(lambda: _name(self._run_module([*self._cut(sizes)])))).judge(
            pairs
        )
        return all(row.verdict != "failed" for row in rows)

    def _run_module(self, leaves: list[Any]) -> list[Any]:
        """What the module gives, and the tensors among its inputs as it leaves them."""
        args, kwargs = self._call(leaves)
        with torch.no_grad(), restore_state(self.found.module, gpus=()):
            outputs = tp.TREE_LEAVES.get()(self.found.module(*args, **kwargs))
        return [*outputs, *(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))]

    def _cut(self, sizes: Mapping[str, int]) -> Iterator[Any]:
        rows = self.contract.contract.leaves or ()
        for leaf, (_, value) in zip(rows, self.found.inputs.leaves, strict=True):
            if not isinstance(value, torch.Tensor):
                yield value
                continue
            for index, size in enumerate(leaf.shape):
                chosen = sizes.get(size.name or "") if isinstance(size, Dynamic) else None
                if isinstance(size, Dynamic) and chosen is not None:
                    value = of_size(value, index, size.size(chosen))
            yield value.clone()


def of_size(value: torch.Tensor, index: int, size: int) -> torch.Tensor:
    """A tensor at another size of one dimension: cut, or its entries repeated."""
    if size <= value.shape[index]:
        return value.narrow(index, 0, size)
    rows = torch.arange(size, device=value.device) % value.shape[index]
    return value.index_select(index, rows)


def _name(leaves: Sequence[Any]) -> dict[str, Any]:
    return {str(number): leaf for number, leaf in enumerate(leaves)}


def _like(expected: Any, actual: Any) -> Any:
    """What the library gives, which has tensors for numbers, as what is expected."""
    is_number = isinstance(expected, int | float) and isinstance(actual, torch.Tensor)
    return type(expected)(actual.item()) if is_number else actual
