"""What the `tlparse` program finds in logs of torch's structured trace, counted from its files."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

GRAPHS = (
    *("dynamo_output_graph", "before_pre_grad_graph", "after_pre_grad_graph", "aot_joint_graph"),
    *("aot_inference_graph", "before_joint_graph", "after_joint_graph", "aot_forward_graph"),
    *("aot_backward_graph", "before_post_grad_graph", "inductor_post_grad_graph"),
)
_FILE = re.compile(r"(.+?)(?:_c[a-z0-9]{45,})?_\d+\.\w+$")
_GENERATED = re.compile(r"^\w+ = async_compile\.\w+\(", re.MULTILINE)
_CALLED = re.compile(r"^ +(?:buf\d+ = )?(?:extern_kernels|torch\.ops|aten)\.[\w.]+\(", re.MULTILINE)


@dataclass(frozen=True)
class Counts:
    """Graphs of all stages, breaks, compilations that were not the first, kernels."""

    graphs: int
    breaks: int
    recompiles: int
    kernels: int


def program() -> str | None:
    """The program that belongs to this Python, or any; None where there is none."""
    own = Path(sys.executable).with_name("tlparse")
    return str(own) if own.exists() else shutil.which("tlparse")


def run(path: Path, output: Path, *, several: bool = False) -> Path:
    """Let tlparse take a log apart, or a folder with the logs of several ranks."""
    found = program()
    assert found is not None
    more = ["--all-ranks-html"] if several else []
    command = [found, str(path), "-o", str(output), "--no-browser", "--plain-text", *more]
    subprocess.run(command, check=True, capture_output=True)
    return output


def counts(output: Path) -> Counts:
    """Count the files that tlparse wrote, and the kernels in its copies of programs."""
    kinds: dict[str, list[Path]] = {}
    for file in output.rglob("*_*.*"):
        match = _FILE.match(file.name)
        if match is not None:
            kinds.setdefault(match[1], []).append(file)
    broken = {file.parent for file in kinds.get("dynamo_graph_break_reason", ())}
    ended = [
        file
        for file in kinds.get("dynamo_error", ())
        if "exc.Unsupported: " in file.read_text() and file.parent not in broken
    ]
    programs = [file.read_text() for file in kinds.get("inductor_output_code", ())]
    return Counts(
        graphs=sum(len(kinds.get(kind, ())) for kind in GRAPHS),
        breaks=len(kinds.get("dynamo_graph_break_reason", ())) + len(ended),
        recompiles=len(kinds.get("recompile_reasons", ())),
        kernels=sum(len(_GENERATED.findall(p)) + len(_CALLED.findall(p)) for p in programs),
    )
