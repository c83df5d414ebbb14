"""One kernel of a program by itself: its nodes as a module, its inputs, a script that runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import torch

from workbench.analysis.kernel_script.script import write_build
from workbench.artifacts.programs import find_kernels
from workbench.compiler.call_state.call_leaves import copy_tensor
from workbench.compiler.captured_graphs.captured import HigherOrderRef, captured, filled
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.interpreter.reference import find_function
from workbench.compiler.interpreter.verification import Products
from workbench.errors import UsageError
from workbench.report import Kernel
from workbench.worlds.numerics.computing.cones import Chain, IndexedGraph, select_known
from workbench.worlds.numerics.computing.distances import Apart, measure_apart, measure_off
from workbench.worlds.numerics.computing.host_microscope import HostProgram
from workbench.worlds.numerics.computing.kernel_walk import KernelWalk
from workbench.worlds.numerics.computing.precisions import Precision
from workbench.worlds.numerics.computing.recorded_stages import StageGraph
from workbench.worlds.numerics.computing.users_launches import UsersLaunch

_SCRIPT = Template('''"""$title

$what
Run it with python $file. $data has its inputs, from the checked call.
$how
"""

import os
from pathlib import Path

import torch

$device
import torch._inductor.inductor_prims  # noqa: E402, F401  registers torch.ops.prims of Inductor
from torch import device, inf, nan  # noqa: E402, F401  names in the code of the nodes


$eager

$exact

$build

def moved(value):
    """Copy an argument to the device, with the same strides."""
    if not isinstance(value, torch.Tensor) or not value.numel():
        return value
    reach = sum((size - 1) * step for size, step in zip(value.shape, value.stride()))
    whole = value.as_strided((reach + 1,), (1,))
    return whole.to(DEVICE).as_strided(value.shape, value.stride())


def error_in_eps(value, exact, dtype):
    """Return the largest error, in eps of the dtype at the scale of the tensor."""
    eps = torch.finfo(dtype).eps if dtype.is_floating_point else 1.0
    gap = float((value.double() - exact.double()).abs().max())
    return gap and gap / eps / float(exact.double().abs().max())


given = torch.load(Path(__file__).with_name("$data"))
args = [moved(each) for each in given["args"]]
torch.set_num_threads(given["threads"])
build()["$name"](*args)
with torch.no_grad():
    eager = as_eager(*given["inputs"])
    wide = [t.double() if t.is_floating_point() else t for t in given["inputs"]]
    exact = exactly(*wide)
for (node, place, recorded), one, true in zip(given["written"], eager, exact):
    value = args[place].cpu().reshape(one.shape)
    differ = float((value != one).double().mean())
    print(
        f"{node}: as recorded {torch.equal(value, recorded.reshape(one.shape))}, differs from "
        f"eager in {differ:.1%}, error {error_in_eps(value, true, one.dtype):.2g} eps, eager's "
        f"{error_in_eps(one, true, one.dtype):.2g} eps"
    )
''')
_BUILD_CPP = Template('''
def build():
    """Build the kernel as Inductor does."""
    from torch._inductor.async_compile import AsyncCompile

    async_compile = AsyncCompile()
    $kernel
    made = {"$name": $name}
    async_compile.wait(made)
    return made

''')
_ON_A_GPU = """DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # which Triton reads when it is imported
"""
_HOW_ON_A_GPU = (
    "It runs on the GPU if there is one, otherwise on the CPU, in aot-workbench's version of\n"
    "Triton's interpreter. The recorded values are from the interpreter."
)


@dataclass
class IsolatedKernel:
    """A kernel in one call: the values that its nodes are computed from, and what it left.

    `definition` is its statement in the program, `args` are what it was given before it ran,
    `places` have for a node the argument with its value.
    """

    kernel: Kernel
    graph: StageGraph
    definition: str = ""
    inputs: dict[str, Any] = field(default_factory=dict)
    values: dict[str, torch.Tensor] = field(default_factory=dict)
    args: tuple[Any, ...] = ()
    places: dict[str, int] = field(default_factory=dict)

    def build(self, precision: Precision = Precision.SAME) -> torch.fx.GraphModule:
        """The nodes of the kernel as a module of its inputs.

        It returns the values that the kernel leaves, in the order of `values`. Raises `UsageError`
        for nodes that cannot stand alone.
        """
        fx_graph, nodes = torch.fx.Graph(), {}
        for name in self.inputs:
            nodes[name] = fx_graph.placeholder(name)
        inside = {
            part for node in self.values for part in self.graph.find_inside(node, self.inputs)
        }
        for name in sorted(inside, key=self.graph.position.__getitem__):
            node = self.graph.nodes[name]
            if isinstance(node.target, UsersLaunch):
                raise UsageError(
                    f"{self.kernel.id} is your Triton kernel {node.target.name}: it has no nodes "
                    "to isolate."
                )
            if node.op != "call_function" or isinstance(node.target, HigherOrderRef):
                raise UsageError(
                    f"{self.kernel.id} contains {name}, which is not a plain operator: its nodes "
                    "cannot be isolated."
                )
            args = filled(node.args, nodes, precision.leaf)
            kwargs = filled(node.kwargs, nodes, precision.leaf)
            nodes[name] = fx_graph.create_node(
                "call_function", find_function(node.target), args, kwargs, name
            )
        fx_graph.output(tuple(nodes[name] for name in self.values))
        return torch.fx.GraphModule(torch.nn.Module(), fx_graph)

    def measure(self, node: str, values: Sequence[Any]) -> Apart:
        """How far one of the values that the built module gives is from eager's."""
        place = list(self.values).index(node)
        with torch.no_grad():
            eager = self.build()(*self.inputs.values())
        return measure_apart(values[place], eager[place])


class _Isolating(KernelWalk):
    """Keeps the inputs of one kernel and compares nothing."""

    def __init__(self, program: HostProgram, kernel: Kernel, node: str | None):
        super().__init__(program.stages, program.aten_inputs())
        stages = program.stages
        shown = {launch: name for name, launch in stages.lowered.shown.items() if "." not in name}
        node = shown.get(node or "", node)
        definition = _find_definition(stages.source, kernel)
        self.found = IsolatedKernel(kernel, stages.lowered, definition)
        self.wanted = next(
            writes
            for writes in program.stages.kernels
            if writes.kernel.id == kernel.id and node in (None, *(n for _, n in writes.values))
        )

    def _compare(
        self, kernel: Kernel, node: str, got: torch.Tensor, known: Mapping[str, Any]
    ) -> None:
        if kernel.id == self.wanted.kernel.id and node in {n for _, n in self.wanted.values}:
            graph = self._stages.lowered
            leaves = {leaf: known[leaf] for leaf in graph.find_leaves(node, known)}
            constants = {
                name: graph.graph.constants[graph.nodes[name].target]
                for name in graph.find_inside(node, known)
                if graph.nodes[name].op == "get_attr"
            }
            inputs = {**self.found.inputs, **select_known(graph, node, leaves | constants)}
            order = sorted(inputs, key=graph.position.__getitem__)  # a set has no order of its own
            self.found.inputs = {name: inputs[name] for name in order}
            self.found.values[node] = got.clone()


def isolate(program: HostProgram, kernel: Kernel, node: str | None = None) -> IsolatedKernel:
    """Run the program once more, and keep what one kernel is given in the call for a node."""
    walk = _Isolating(program, kernel, node)
    calls: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = []
    done = walk.found

    def before(name: str, args: tuple[Any, ...]) -> None:
        if name == kernel.name:
            copied = tuple(copy_tensor(a) if isinstance(a, torch.Tensor) else a for a in args)
            calls.append((copied, args))

    def observe(step: str, values: Mapping[str, Any]) -> None:
        count = len(done.values)
        walk(step, values)
        if calls and len(done.values) > count:
            done.args, live = calls[-1]
            by_address = {
                arg.data_ptr(): place
                for place, arg in enumerate(live)
                if isinstance(arg, torch.Tensor)
            }
            for variable, name in walk.wanted.values:
                value = values.get(variable)
                if isinstance(value, torch.Tensor) and value.data_ptr() in by_address:
                    done.places[name] = by_address[value.data_ptr()]

    program.walk_kernels(observe, before)
    if not done.values:
        raise UsageError(
            f"{kernel.id} does not write the value of any node, so it cannot be checked."
        )
    return done


def judge_outputs(
    module: torch.fx.GraphModule, inputs: Sequence[Any], eager: Sequence[Any], got: Sequence[Any]
) -> tuple[float, float]:
    """How far the worst of the outputs of a graph is from float64, in roundings, and eager there.

    Raises `CannotCompute` where an operator has no float64.
    """
    graph = IndexedGraph(captured(module))
    by_name = dict(zip(graph.placeholders, inputs, strict=True))
    exact = Chain(graph, Precision.WIDE).outputs(by_name)
    rows = zip(eager, got, exact, strict=True)
    return max(
        (measure_off(own, true, one.dtype), measure_off(one, true, one.dtype))
        for one, own, true in rows
    )


def write_repro(
    part: IsolatedKernel, path: Path, title: str, what: str, products: Products
) -> tuple[Path, Path]:
    """Write a script that runs the kernel alone, and its inputs beside it; both paths.

    `products` say how a Triton kernel multiplies in the interpreter. Raises `UsageError` for a call
    of a library, which has no source.
    """
    kernel, data = part.kernel, path.with_suffix(".pt")
    if not kernel.is_generated or not part.definition:
        raise UsageError(
            f"{kernel.id} ({kernel.name}) is a library call without generated source: use "
            ".subgraph()."
        )
    written = [
        (node, place, part.values[node])
        for node, place in part.places.items()
        if node in part.values
    ]
    if not written:
        raise UsageError(
            f"{kernel.id} ({kernel.name}) writes to none of its arguments, so a script cannot "
            "check it: use .subgraph()."
        )
    part.values = {node: value for node, _, value in written}
    texts = {
        "device": 'DEVICE = "cpu"',
        "how": "This script needs torch and a C++ compiler.",
        "build": _BUILD_CPP.substitute(kernel=part.definition, name=kernel.name),
    }
    if kernel.language == "triton":
        how = f"{products.default!r}, {products.allowed!r}, has_tf32={products.has_tf32}"
        products_line = f"        builder.choose_products({how})\n"
        build = write_build(kernel.name, part.definition, products_line)
        texts = {"device": _ON_A_GPU, "how": _HOW_ON_A_GPU, "build": build}
    text = _SCRIPT.substitute(
        title=title,
        what=what,
        file=path.name,
        data=data.name,
        name=kernel.name,
        eager=_write_function(part, "as_eager", Precision.SAME),
        exact=_write_function(part, "exactly", Precision.WIDE),
        **texts,
    )
    contents = {
        "args": part.args,
        "inputs": list(part.inputs.values()),
        "written": written,
        "threads": torch.get_num_threads(),
    }
    plain = tp.TREE_MAP_ONLY.get()(
        torch.Tensor, lambda tensor: tensor.detach().as_subclass(torch.Tensor), contents
    )  # a class of the user's could not be read where the script runs
    torch.save(plain, data)
    path.write_text(text, encoding="utf-8")
    return path, data


def _find_definition(source: str, kernel: Kernel) -> str:
    """What builds a kernel: its statement in C++, its source in Triton; empty for a library."""
    definition = next((one for one in find_kernels(source) if one.name == kernel.name), None)
    if definition is None:
        return ""
    is_triton = kernel.language == "triton"
    return (
        definition.evaluate_source()
        if is_triton
        else f"{source[definition.start : definition.end]})"
    )


def _write_function(part: IsolatedKernel, name: str, precision: Precision) -> str:
    module = part.build(precision)
    for node in module.graph.nodes:
        if getattr(node.target, "__module__", "").startswith("workbench."):
            raise UsageError(
                f"{part.kernel.id} contains {node.name}, which aot-workbench computes in place "
                "of torch, so a standalone script cannot run it. Use .subgraph()."
            )
    lines = module.code.strip().replace("def forward(self, ", f"def {name}(").split("\n")
    kept = [line for line in lines if line.strip() and not line.startswith(("import", "from"))]
    return "\n".join(kept) + "\n"
