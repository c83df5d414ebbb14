"""The smallest part of a call that still fails: what torch's minifier leaves of its graph."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any

import torch

from workbench.arguments import checked, read_answer
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_like import list_tensor_leaves
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.errors import UsageError, WorkbenchError, read_first_line
from workbench.file_path import check_file_path
from workbench.number_text import number_text, plural
from workbench.tasks.background_task import Cancelled
from workbench.tasks.progress_events import ProgressCallback
from workbench.worlds.numerics.computing.isolated_kernels import judge_outputs

Fails = Callable[[torch.fx.GraphModule, Sequence[Any]], bool]
"""Whether a graph fails on inputs; it compiles the graph itself."""

_WRONG, _WORSE = 64.0, 8.0
_SCRIPT = Template('''"""$title

Run it with python $file. $data has its inputs.
"""

from pathlib import Path

import torch
from torch import device, inf, nan  # noqa: F401  names in the code of the nodes


class Part(torch.nn.Module):
$code

inputs = torch.load(Path(__file__).with_name("$data"))
with torch.no_grad():
    eager = Part()(*inputs)
    compiled = torch.compile(Part())(*inputs)
for one, other in zip(eager, compiled):
    print(f"largest difference {float((one.double() - other.double()).abs().max()):.3g}")
''')


@dataclass(frozen=True, repr=False)
class Minified:
    """Hold a part of a call that still fails, as a module of its inputs.

    `nodes` counts its operators, `nodes_before` those of the whole call, and `tries` the compiled
    graphs. `how` describes the failure.
    """

    name: str
    module: torch.fx.GraphModule
    inputs: tuple[Any, ...]
    nodes: int
    nodes_before: int
    tries: int
    how: str

    @property
    def code(self) -> str:
        """The part as Python code."""
        return self.module.code.strip()

    @property
    def sentence(self) -> str:
        """The remaining share of the call, and its failure."""
        left = f"{self.nodes} of {plural(self.nodes_before, 'operator')}"
        tries = plural(self.tries, "try", "tries")
        verb = "fails" if self.nodes == 1 else "fail"
        return f"{left} of {self.name} still {verb} after {tries}: {self.how}."

    @checked
    def save(self, path: str | PathLike[str]) -> str:
        """Write a script that runs the part with torch alone, and its inputs; returns the path.

        The inputs are in the file of the same name that ends in `.pt`, and contain your values.
        Raises `UsageError` if the part holds constants.
        """
        chosen = Path(check_file_path(path))
        if any(node.op == "get_attr" for node in self.module.graph.nodes):
            raise UsageError("The part has constants, which a script cannot contain: use .module.")
        data = chosen.with_suffix(".pt")
        lines = [line for line in self.code.split("\n") if line.strip()]
        chosen.write_text(
            _SCRIPT.substitute(
                title=self.sentence,
                file=chosen.name,
                data=data.name,
                code="\n".join(f"    {line}" for line in lines) + "\n",
            ),
            encoding="utf-8",
        )
        torch.save(list(self.inputs), data)
        return str(chosen)

    def __repr__(self) -> str:
        """A short stable summary."""
        return f"Minified({self.name}: {plural(self.nodes, 'operator')} of {self.nodes_before})"

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence


def minify_call(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    name: str,
    fails: Fails,
    progress: ProgressCallback | None,
) -> Minified:
    """Leave out operators of a call as long as it still fails.

    Raises `UsageError` where the whole does not fail, or cannot be followed operator by operator.
    """
    from functorch import make_fx  # type: ignore[import-untyped]
    from functorch.compile import minifier  # type: ignore[import-untyped]

    module, inputs = _follow(make_fx, function, args, kwargs)
    trial = _Attempt(fails, progress)
    if not trial.run(module, inputs):
        raise UsageError(f"{name} does not fail: {trial.how or 'fails() is False'}.")
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            small, left = minifier(module, inputs, trial.run, dump_state=lambda *_: None)
        except Cancelled:
            raise
        except Exception as error:
            why = read_first_line(error)
            raise UsageError(f"torch's minifier failed on {name}: {why}") from error
    if not trial.run(small, left):
        raise UsageError(
            f"{name}, reduced by torch's minifier, does not fail again: the failure may be random."
        )
    before, after = (_count(graph) for graph in (module, small))
    return Minified(name, small, tuple(left), after, before, trial.tries, trial.how)


def _follow(
    make_fx: Any, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[torch.fx.GraphModule, list[torch.Tensor]]:
    """A call as a graph of its tensors, parameters and buffers among them, and these."""
    is_module = isinstance(function, torch.nn.Module)
    held = (
        {**dict(function.named_parameters()), **dict(function.named_buffers())}
        if (is_module)
        else {}
    )
    flat, layout = tp.TREE_FLATTEN.get()((args, dict(kwargs)))
    places = [place for place, leaf in enumerate(flat) if isinstance(leaf, torch.Tensor)]

    def call(*tensors: torch.Tensor) -> list[torch.Tensor]:
        own = dict(zip(held, tensors, strict=False))
        leaves = list(flat)
        for place, tensor in zip(places, tensors[len(held) :], strict=True):
            leaves[place] = tensor
        positional, named = tp.TREE_UNFLATTEN.get()(leaves, layout)
        result = (
            torch.func.functional_call(function, own, positional, named)
            if is_module
            else function(*positional, **named)
        )
        results = list_tensor_leaves(result)
        if not results:
            raise UsageError("The call returns no tensor to compare: pass fails=.")
        return results

    tensors = [*held.values(), *(flat[place] for place in places)]
    inputs = [tensor.detach().clone() for tensor in tensors]
    try:
        with torch.no_grad():
            module = make_fx(call)(*inputs)
    except WorkbenchError:
        raise
    except Exception as error:
        why = read_first_line(error)
        raise UsageError(f"The call cannot be traced operator by operator: {why}") from error
    return module, inputs


def _count(module: torch.fx.GraphModule) -> int:
    return sum(node.op == "call_function" for node in module.graph.nodes)


class _Attempt:
    """Runs a judge on graph after graph, and tells of each."""

    def __init__(self, fails: Fails, progress: ProgressCallback | None):
        self._fails = fails
        self._progress = progress
        self.tries = 0
        self.how = ""

    def run(self, module: torch.fx.GraphModule, inputs: Sequence[Any]) -> bool:
        """Whether a graph fails on copies of the inputs."""
        self.tries += 1
        if self._progress is not None:
            self._progress(f"try {self.tries}: {plural(_count(module), 'operator')}", 0.0)
        copies = [one.clone() if isinstance(one, torch.Tensor) else one for one in inputs]
        failed = read_answer("fails", self._fails(module, copies))
        owner = getattr(self._fails, "__self__", None)
        self.how = getattr(owner, "how", "fails() is True") if failed or owner is not None else ""
        return failed


class FailureSearch:
    """Compiles a graph: it fails where that raises, or where the result is no rounding away.

    How the first graph fails is how the others have to.
    """

    def __init__(self, compile_one: Callable[[CompileRequest], Any], options: Mapping[str, Any]):
        self._compile = compile_one
        self._options = CompileOptions(options=options, grad=False, capture="light")
        self._kind = ""
        self.how = ""

    def fails(self, module: torch.fx.GraphModule, inputs: Sequence[Any]) -> bool:
        """See `Fails`."""
        if not _count(module):
            return False
        kind, self.how = self._judge(module, tuple(inputs))
        self._kind = self._kind or kind
        return bool(kind) and kind == self._kind

    def _judge(self, module: torch.fx.GraphModule, inputs: tuple[Any, ...]) -> tuple[str, str]:
        copies = [one.clone() if isinstance(one, torch.Tensor) else one for one in inputs]
        with torch.no_grad():
            eager = module(*copies)
        try:
            got = self._compile(CompileRequest(module, inputs, {}, self._options))(*inputs)
        except Cancelled:
            raise
        except Exception as error:
            inner: BaseException = error
            while inner.__cause__ is not None:  # an error of a compilation says the same of all
                inner = inner.__cause__
            kind = type(inner).__name__
            return kind, f"{kind}: {read_first_line(inner)}"
        worst, beside = judge_outputs(module, inputs, eager, got)
        texts = [number_text(value, "difference") for value in (worst, beside)]
        how = f"error {texts[0]} eps, eager's {texts[1]}"
        return ("departs" if worst > _WRONG and worst > _WORSE * beside else ""), how
