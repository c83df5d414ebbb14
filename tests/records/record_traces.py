"""Records `tests/records/traces/*`: logs of torch's structured trace in several shapes.

    python -m tests.records.record_traces [SHAPE ...]

Paths of the machine are replaced, the digests of payloads made anew. Runs some minutes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROGRAM = HERE / "traced.py"
LOGS = HERE / "traces"
SHAPES = {"recompiles": 1, "failed": 1, "ranks": 2, "unlike": 2, "gpu": 1}
_HEADER = re.compile(r"[VDIWEC]\d{4} [^\n{]*\] \{")


def main(shapes: Sequence[str]) -> None:
    for shape in shapes or SHAPES:
        processes = SHAPES[shape]
        with tempfile.TemporaryDirectory() as folder:
            record(shape, processes, Path(folder))
            logs = sorted((Path(folder) / "trace").glob("*.log"))
            assert len(logs) == processes, logs
            for number, log in enumerate(logs):
                name = f"{shape}.log.gz"
                if processes > 1:
                    name = f"{shape}/dedicated_log_torch_trace_rank_{number}_recorded.log.gz"
                target = LOGS / name
                target.parent.mkdir(parents=True, exist_ok=True)
                text = redacted(log.read_text(), Path(folder))
                packed = gzip.compress(text.encode(), 9, mtime=0)
                target.write_bytes(packed)
                assert len(packed) < 200 << 10
                print(f"{name}: {len(text):,} bytes, {len(packed):,} packed")


def record(shape: str, processes: int, folder: Path) -> None:
    variables = {
        **os.environ,
        "TORCH_TRACE": str(folder / "trace"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "AOT_WORKBENCH_CACHE": str(folder / "workbench"),
        "PYTHONPATH": str(HERE.parents[1]),
        "TMPDIR": str(folder),
        "MASTER_PORT": "29531",
        "WORLD_SIZE": str(processes),
        # of one shape without: kernels whose nodes a log does not tell
        "INDUCTOR_PROVENANCE": str(int(shape != "ranks")),
    }
    running = [
        subprocess.Popen([sys.executable, str(PROGRAM), shape], env={**variables, "RANK": str(n)})
        for n in range(processes)
    ]
    assert not any(process.wait(timeout=600) for process in running)


def redacted(text: str, folder: Path) -> str:
    """The log under names of files that are of no machine, with digests that fit."""
    site = sysconfig.get_path("purelib")
    library = sysconfig.get_path("stdlib")
    for found, shown in (
        (site, "/env/lib/python3.11/site-packages"),
        (".venv/lib/python3.11/site-packages/", ""),
        (library, "/python/lib/python3.11"),
        (str(folder), "/cache"),
        (str(HERE.parents[1]), "/project"),
        (str(Path(site).resolve().parents[3]), "/project"),  # a link leads to the environment
        (str(HERE.parents[1]).lstrip("/"), "project"),
        (os.path.expanduser("~"), "/home/user"),
    ):
        text = text.replace(found, shown)
    text = re.sub(r"at 0x[0-9a-f]{8,}", "at 0x7f0000000000", text)
    return "".join(_with_digests(text))


def _with_digests(text: str) -> Iterator[str]:
    lines = text.split("\n")
    starts = [n for n, line in enumerate(lines) if _HEADER.match(line)]
    seen: set[str] = set()
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        head, _, metadata = lines[start].partition("] {")
        data = json.loads("{" + metadata)
        payload = [line[1:] for line in lines[start + 1 : end] if line.startswith("\t")]
        if "has_payload" in data:
            content = thinned("\n".join(payload), seen)
            digest = hashlib.md5(content.encode(), usedforsecurity=False).hexdigest()
            data["has_payload"] = digest
            payload = content.split("\n")
        for kind in ("compilation_metrics", "bwd_compilation_metrics"):
            if kind in data:
                data[kind] = _without_repeats(data[kind], seen)
        for kind in ("create_symbol", "guard_added_fast"):
            if kind in data:
                data[kind]["stack"] = data[kind]["stack"][:3]
        yield f"{head}] {json.dumps(data)}\n" + "".join(f"\t{line}\n" for line in payload)


def thinned(payload: str, seen: set[str]) -> str:
    """A payload without what is large and says nothing here: hashes of torch's sources, configs."""
    if not payload.startswith("{") or len(payload) < 2_000:
        return payload
    if payload in seen:  # a configuration
        return "{}"
    seen.add(payload)
    data = json.loads(payload)
    if "components" in data:
        data["components"] = data["components"][:3]
    if isinstance(data.get("args"), dict):
        data["args"] = _without_repeats(data["args"], seen)
    return json.dumps(data, indent=0)


def _without_repeats(values: dict[str, Any], seen: set[str]) -> dict[str, Any]:
    """Long values the first time only."""
    kept = {}
    for name, value in values.items():
        text = json.dumps(value)
        kept[name] = value if len(text) < 1_000 or text not in seen else None
        seen.add(text)
    return kept


if __name__ == "__main__":
    main(sys.argv[1:])
