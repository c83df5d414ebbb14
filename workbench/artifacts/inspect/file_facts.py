"""Facts of a file: what its readers hand over, with rows that manifests or reports give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.artifacts.inspect.artifact_rows import (
    ConstantFacts,
    GuardFacts,
    KernelFacts,
    ModelFacts,
    NeedFacts,
    OutsideFacts,
    ValueFacts,
    VariantFacts,
)
from workbench.artifacts.machine.elf import Libraries
from workbench.artifacts.manifest.manifest import Build, BuiltFor, SystemNeeds, Versions
from workbench.errors import ArtifactError

if TYPE_CHECKING:
    from workbench.report import Report

_CONTAINER = "AOTInductorModelContainer"  # what its functions in C begin with
REPORT_LIMIT = 16 << 20  # bytes of a packed report; that of GPT-2 takes 0.3 MiB


@dataclass(frozen=True)
class Text:
    """One text of code; `text` is None when it is too big to be kept."""

    name: str
    language: str
    size: int
    text: str | None


@dataclass(frozen=True)
class Facts:
    """What one file says about itself; `notes` are what could not be read, with the reason."""

    models: Sequence[ModelFacts] = ()
    variants: Sequence[VariantFacts] = ()
    values: Sequence[ValueFacts] = ()
    constants: Sequence[ConstantFacts] = ()
    guards: Sequence[GuardFacts] = ()
    needs: Sequence[NeedFacts] = ()
    outside: Sequence[OutsideFacts] = ()
    kernels: Sequence[KernelFacts] = ()
    texts: Sequence[Text] = ()
    reports: Mapping[str, bytes] = field(default_factory=dict)
    notes: Sequence[str] = ()


def shape_text(shape: Sequence[int | str] | None) -> str:
    """A shape in words, such as `[s0, 512]`; empty where it is not known."""
    return "" if shape is None else f"[{', '.join(map(str, shape))}]"


def torch_row(version: str) -> NeedFacts:
    """The release of torch."""
    return NeedFacts("torch", version, "the torch release that compiled the file")


def list_version_needs(versions: Versions, target: BuiltFor | None) -> Iterator[NeedFacts]:
    """The releases that a file of Python code needs, those for another machine's GPU first."""
    yield NeedFacts("python", versions.python, "the file holds Python bytecode")
    yield torch_row(target.torch if target else versions.torch)
    triton = target.triton if target else versions.triton
    if triton:
        yield NeedFacts("triton", triton, "for Triton kernels")
    yield NeedFacts("bytecode", versions.magic, "Python's magic number")


def system_rows(needs: SystemNeeds) -> Iterator[NeedFacts]:
    """System, processor, versions of symbols, libraries."""
    if needs.system:
        yield NeedFacts("system", needs.system)
        yield NeedFacts("processor", needs.machine)
    for family, version in sorted(needs.symbols.items()):
        yield NeedFacts(family, version, "newest symbol version used")
    if needs.libraries:
        yield NeedFacts("libraries", ", ".join(needs.libraries))


def build_rows(builds: Iterable[Build]) -> Iterator[NeedFacts]:
    """The instruction sets of the kernels and the processor's flags that they were built with."""
    for build in builds:
        yield NeedFacts("instructions", build.isa or build.name, " ".join(build.flags))


def list_gpu_needs(target: BuiltFor | None) -> Iterator[NeedFacts]:
    """The GPU, its toolkit and the releases that code for another machine was made for."""
    if target is None:
        return
    vendor = target.kind.toolkit
    yield NeedFacts("gpu", target.title, "the architecture of the machine code")
    yield NeedFacts("toolkit", f"{vendor} {target.toolkit}" if target.toolkit else f"any {vendor}")


def read_library_facts(libraries: Libraries) -> Facts:
    """What a bare library says of the model in it: whether it is one, and what it leaves open."""
    exported = {symbol.name for symbol in libraries.symbols if symbol.exported}
    is_model = any(name.startswith(_CONTAINER) for name in exported)
    made_by = (
        "made by AOTInductor"
        if is_model
        else "not an AOTInductor model: it exports no model functions"
    )
    return Facts(
        notes=(
            made_by,
            "a bare library describes neither its inputs and outputs nor its torch release, so it "
            "cannot be called. wb.package writes a callable file",
        )
    )


def report_facts(model: str, content: bytes | None) -> Facts:
    """Outputs, guards and texts from the content of a `.wbr` file; a damaged one is a note."""
    if content is None:
        return Facts(notes=["the file holds no report"])
    from workbench.report.record import Report  # records take 0.06 s to define

    try:
        report = Report.from_bytes(content)
        guards = [
            GuardFacts(
                *(model, str(r.kind), str(r.source), bool(r.kept), str(r.why_dropped or "")),
                str(r.frozen or ""),
            )
            for r in report.guards
        ]
        return Facts(values=_outputs(model, report), guards=guards, texts=titled(_texts(report)))
    except (ArtifactError, LookupError, TypeError, ValueError, AttributeError) as error:
        return Facts(notes=[f"the report of {model} cannot be read: {error}"])


def _texts(report: Report) -> Iterator[tuple[str, str, str]]:
    """The sources of the kernels and the generated programs that call them."""
    for kernel in report.kernels:
        if kernel.text:
            yield str(kernel.name), str(kernel.language), str(report.texts[kernel.text])
    for wrapper in report.wrappers:
        if wrapper.text:
            text = str(report.texts[wrapper.text])
            yield f"wrapper {wrapper.id}", "cpp" if "#include" in text[:2000] else "python", text


def titled(texts: Iterable[tuple[str, str, str]]) -> list[Text]:
    """Texts given as name, language and content, each once; equal names are numbered."""
    by_title: dict[str, Text] = {}
    for name, language, text in texts:
        title, number = name, 1
        while title in by_title and by_title[title].text != text:
            number += 1
            title = f"{name} ({number})"
        by_title[title] = Text(title, language, len(text.encode()), text)
    return list(by_title.values())


def _outputs(model: str, report: Report) -> list[ValueFacts]:
    """What the graph returns that Dynamo traced: the tensors of the function's result."""
    first = next((graph.id for graph in report.graphs if graph.stage == "dynamo"), None)
    nodes = {node.id: node for node in report.nodes if node.graph == first}
    ends = [node for node in nodes.values() if node.op == "output"]
    results = [nodes[name] for end in ends[-1:] for name in end.inputs if name in nodes]
    return [
        ValueFacts(
            model=model,
            direction="output",
            name=f"output {number}",
            kind="Tensor",
            dtype=str(node.dtype or ""),
            shape=shape_text(node.shape),
            device=str(node.device or ""),
            stride=shape_text(node.stride),
        )
        for number, node in enumerate(results)
    ]
