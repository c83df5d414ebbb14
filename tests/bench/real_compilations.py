"""Code that Triton made beside a real GPU, compared with what it makes here without one.

    python -m tests.bench.real_compilations FOLDER [PYTHON ...] [--page]

FOLDER holds logs of tritonparse. Each kernel whose Python source is in them is compiled again for
the same GPU, which is not here, by the Triton of each PYTHON, such as one with the release that
wrote the logs, and by that of this environment. `--page` puts the table into the page of real code.
The sources in the logs are run: take logs that you trust.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tests.bench.compiled_again import STAGES
from tests.bench.figure import ROOT
from workbench.compiler.machine_code import listings
from workbench.worlds.logs.reading.kernel_events import Compilation, KernelLog, number_in, part_of
from workbench.worlds.logs.reading.kernel_log import (
    describe_constants,
    kernel_log_files,
    list_parameters,
)
from workbench.worlds.logs.reading.log_report import opened

PAGE = ROOT / "docs" / "pages" / "about" / "real-code.md"
BEGIN = "<!-- kernels: written by tests.bench.real_compilations -->\n"
END = "<!-- end -->"
ADDED = {"cache_hit", "env", "src_attrs", "src_cache_key", "src_constants"}
"""Metadata that are tritonparse's, not Triton's."""
_NAMES = {"ttir": "TTIR", "ttgir": "TTGIR", "llir": "LLVM IR", "ptx": "PTX"}
_TYPES = {"f64": "fp64", "f32": "fp32", "f16": "fp16"}
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "enable_fp_fusion", "sanitize_overflow", "debug")
_HEAD = re.compile(r"tt\.func public @\w+\((.*)\)")
_ARGUMENT = re.compile(r"%\w+: (?:!tt\.ptr<(\w+)>|(\w+))")
_REGISTER = re.compile(r"%(rs|rd|r|p|f|fd|b)(\d+)\b")
_DECLARED = re.compile(r"\s*\.(?:reg|param|version)\b")
_DEBUG = re.compile(r"\s*\.(?:loc|file)\b|\$L__(?:tmp|func)")
_NUMBERED = re.compile(r"!\d+|#\d+")


@dataclass(frozen=True)
class Compared:
    """One kernel of the log beside what one release of Triton makes of its source here.

    `differ` are the stages whose text is another one, `from_log` those that a single stage of the
    release makes of the log's text before it, to the letter. `instructions` are those of the PTX
    with registers named alike, the log's first; `parameters` are how many it takes more.
    """

    kernel: str
    choice: str
    version: str
    differ: tuple[str, ...] = ()
    parameters: int = 0
    instructions: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    from_log: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()  # options of the log that this release does not have
    newer: tuple[str, ...] = ()  # options that the log does not have
    error: str = ""  # why it could not be made again

    @property
    def is_same(self) -> bool:
        """Whether the PTX is byte-identical."""
        return not self.error and "ptx" not in self.differ

    @property
    def verdict(self) -> str:
        """What became of it, in a few words."""
        theirs, ours = self.instructions
        if self.error or self.is_same:
            return f"not made: {self.error}" if self.error else "equal"
        if len(theirs) != len(ours):
            return f"{len(ours)} instructions for {len(theirs)}; {self._stages}"
        other = sum(a != b for a, b in zip(theirs, ours, strict=True))
        instructions = f"{other} of {len(theirs)} instructions" if other else "same instructions"
        return f"{instructions}; {self.parameters} parameter more"

    @property
    def _stages(self) -> str:
        return ", ".join(_NAMES[stage] for stage in self.differ)


def read_kernels(path: Path) -> list[Compilation]:
    """The compilations in the logs that can be made again: source and PTX are there."""
    log = KernelLog()
    for file in kernel_log_files(path):
        with opened(file) as content:
            log.read(content, 1 << 30)
    return [one for one in log.compilations.values() if one.source and "ptx" in one.texts]


def make_job(one: Compilation) -> dict[str, Any]:
    """What `compiled_again` takes of a compilation; an autotuner's decorator is left out."""
    assert one.source is not None
    lines = one.source.text.split("\n")
    begin = next(n for n, line in enumerate(lines) if line.strip().startswith("@triton.jit"))
    target = part_of(one.metadata, "target")
    return {
        "name": one.name,
        "file": f"made_{one.hash[:12]}/{Path(one.source.file).name}",
        "first_line": one.source.first_line + begin,
        "source": "\n".join(lines[begin:]),
        "signature": find_signature(one),
        "constants": part_of(one.metadata, "src_constants"),
        "attributes": part_of(one.metadata, "src_attrs"),
        "options": {k: one.metadata[k] for k in _OPTIONS if one.metadata.get(k) is not None},
        "target": [target["backend"], target["arch"], target["warp_size"]],
        "shared": number_in(one.metadata, "shared") or 0,
        "texts": {stage: one.texts.get(stage, "") for stage in STAGES},
    }


def find_signature(one: Compilation) -> dict[str, str]:
    """The types of the parameters as Triton names them, from the function in the TTIR."""
    head = _HEAD.search(one.texts["ttir"])
    assert head is not None
    assert one.source is not None
    types = iter(_ARGUMENT.findall(head[1]))
    fixed = {ast.literal_eval(key)[0] for key in part_of(one.metadata, "src_constants")}
    signature = {}
    for place, declared in enumerate(list_parameters(one.source.text, one.name)):
        name = re.sub(r"\W.*", "", declared, flags=re.DOTALL)
        pointer, plain = ("", "constexpr") if place in fixed else next(types)
        kind = _TYPES.get(pointer or plain, pointer or plain)
        signature[name] = f"*{kind}" if pointer else kind
    assert next(types, None) is None, f"{one.name} takes more than its source names"
    return signature


def clean(stage: str, text: str) -> list[str]:
    """The lines of a text without comments, places and line tables."""
    if stage in ("ttir", "ttgir"):
        return [line.rstrip() for line in listings.mlir(text).lines if line.strip()]
    if stage == "ptx":
        lines = [line.partition("//")[0].rstrip() for line in listings.assembler(text).lines]
        return [line for line in lines if line and not _DEBUG.match(line)]
    lines = [re.sub(r", ![\w.]+ !\d+", "", line) for line in listings.llvm(text).lines]
    lines = [_NUMBERED.sub("#", line.partition(" ;")[0]).rstrip() for line in lines]
    return [line for line in lines if line and not line.startswith((";", "source_filename"))]


def name_alike(ptx: Iterable[str]) -> tuple[str, ...]:
    """Instructions with registers numbered as they come, without declarations."""
    names: dict[tuple[str, str], int] = {}

    def named(match: re.Match[str]) -> str:
        return f"%{match[1]}:{names.setdefault((match[1], match[2]), len(names))}"

    return tuple(_REGISTER.sub(named, line) for line in ptx if not _DECLARED.match(line))


def compare(one: Compilation, answer: Mapping[str, Any]) -> Compared:
    """One kernel beside its answer."""
    choice = f"{describe_constants(one)}, num_warps={one.metadata.get('num_warps')}"
    if "error" in answer:
        return Compared(one.name, choice, answer["version"], error=answer["error"])
    theirs = {stage: clean(stage, one.texts.get(stage, "")) for stage in STAGES}
    ours = {stage: clean(stage, answer["texts"][stage]) for stage in STAGES}
    takes = [
        sum(".param" in row and ".entry" not in row for row in p if row.startswith("\t."))
        for p in (theirs["ptx"], ours["ptx"])
    ]
    told, has = set(one.metadata) - ADDED, set(answer["options"])
    later = answer["later"].items()
    return Compared(
        kernel=one.name,
        choice=choice,
        version=answer["version"],
        differ=tuple(stage for stage in STAGES if ours[stage] != theirs[stage]),
        parameters=takes[1] - takes[0],
        instructions=(name_alike(theirs["ptx"]), name_alike(ours["ptx"])),
        from_log=tuple(stage for stage, text in later if clean(stage, text) == theirs[stage]),
        unknown=tuple(sorted(told - has)),
        newer=tuple(sorted(has - told)),
    )


def compile_with(python: str, kernels: Sequence[Compilation]) -> list[Compared]:
    """The kernels compiled by the Triton of one interpreter."""
    program = [python, str(Path(__file__).with_name("compiled_again.py"))]
    jobs = b"".join(orjson.dumps(make_job(one)) + b"\n" for one in kernels)
    done = subprocess.run(program, input=jobs, stdout=subprocess.PIPE, check=True)
    answers = map(orjson.loads, done.stdout.splitlines())
    return [compare(*pair) for pair in zip(kernels, answers, strict=True)]


def make_table(rows: Sequence[Compared]) -> str:
    """A row for each kernel, a column for each release."""
    versions = list(dict.fromkeys(row.version for row in rows))
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        found.setdefault((row.kernel, row.choice), {})[row.version] = row.verdict
    heads = " | ".join(f"Triton {version}" for version in versions)
    told = [f"| kernel | configuration | {heads} |", f"| --- | --- |{' --- |' * len(versions)}"]
    for (kernel, choice), by in found.items():
        told.append(f"| `{kernel}` | {choice} | {' | '.join(by[v] for v in versions)} |")
    return "\n".join(told) + "\n"


def make_sums(rows: Sequence[Compared]) -> str:
    """How many are equal in each stage, and how each release's options differ from the log's."""
    versions = list(dict.fromkeys(row.version for row in rows))
    columns = [_sum([row for row in rows if row.version == version]) for version in versions]
    lines = [f"| | {' | '.join(f'Triton {version}' for version in versions)} |"]
    lines.append(f"| --- |{' --- |' * len(versions)}")
    for name in columns[0]:
        lines.append(f"| {name} | {' | '.join(column[name] for column in columns)} |")
    return "\n".join(lines) + "\n"


def _sum(rows: Sequence[Compared]) -> dict[str, str]:
    lacks, newer = (
        ", ".join(f"`{name}`" for name in dict.fromkeys(names)) or "–"
        for names in (
            (name for row in rows for name in row.unknown),
            (name for row in rows for name in row.newer),
        )
    )
    made = [row for row in rows if not row.error]
    counts = {
        "byte-identical PTX": sum(row.is_same for row in rows),
        "same instructions": sum(len(set(row.instructions)) == 1 for row in made),
        "same TTGIR": sum("ttgir" not in row.differ for row in made),
        "same LLVM IR, from the log's TTGIR": sum("llir" in row.from_log for row in rows),
        "same PTX, from the log's LLVM IR": sum("ptx" in row.from_log for row in rows),
    }
    told = {name: f"{count} of {len(rows)}" for name, count in counts.items()}
    return {**told, "options only in the log": lacks, "options only in this release": newer}


def main(arguments: Sequence[str]) -> int:
    """Compile, print the table, and with `--page` put it into the page."""
    words = [word for word in arguments if word != "--page"]
    if not words:
        print(__doc__)
        return 2
    kernels = read_kernels(Path(words[0]))
    rows = [row for python in (*words[1:], sys.executable) for row in compile_with(python, kernels)]
    text = f"{make_sums(rows)}\n{make_table(rows)}"
    print(text)
    if "--page" in arguments:
        head, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(head + BEGIN + text + END + rest.partition(END)[2])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
