"""Whole archives with damaged contents: shown as far as they go, or refused, never a crash."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.artifacts import package_sample as sample
from tests.artifacts.archive.test_package_container import write_as_torch
from workbench.artifacts.inspect.inspection import inspect
from workbench.artifacts.preflight.check import check
from workbench.errors import ArtifactError

ODD: tuple[Any, ...] = (None, 7, -1, "x", [], {}, [[]], True, 1e308, "9" * 50, {"a": {}})
WRAPPER = (Path(__file__).parent / "wrapper_of_torch.cpp").read_bytes()
PROGRAM = {
    "graph_module": {
        "graph": {
            "tensor_values": {
                "x": {
                    "dtype": 7,
                    "sizes": [{"as_expr": {"expr_str": "Symbol('s1')"}}, {"as_int": 8}],
                    "strides": [{"as_int": 8}, {"as_int": 1}],
                    "device": {"type": "cpu"},
                }
            }
        },
        "signature": {"input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}]},
    },
    "range_constraints": {"s1": {"min_val": 2, "max_val": 9}},
    "opset_version": {"aten": 10},
    "schema_version": {"major": 8, "minor": 20},
    "torch_version": "2.13.0+cpu",
    "guards_code": ["L['x'].size()[0] >= 2"],
}
COMPILED = {
    f"{sample.CODE}/m.so": sample.SHARED_LIBRARY.read_bytes(),
    f"{sample.CODE}/m.wrapper.cpp": WRAPPER,
    f"{sample.CODE}/m_metadata.json": b'{"AOTI_CPU_ISA": "AVX2", "AOTI_DEVICE_KEY": "cpu"}',
    "archive_format": b"pt2",
}
WEIGHTS = {"config": {"w": {"path_name": "weight_0", "tensor_meta": {"dtype": 7, "sizes": []}}}}
EXPORTED = {
    "models/model.json": json.dumps(PROGRAM).encode(),
    "data/weights/model_weights_config.json": json.dumps(WEIGHTS).encode(),
    "archive_format": b"pt2",
}


def odd(value: Any, chance: random.Random) -> Any:
    """JSON with other values here and there."""
    if chance.random() < 0.1:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: odd(item, chance) for key, item in value.items()}
    return [odd(item, chance) for item in value] if isinstance(value, list) else value


def damaged(name: str, content: bytes, chance: random.Random) -> bytes:
    if name.endswith(".json") and chance.random() < 0.8:
        return json.dumps(odd(json.loads(content), chance)).encode()
    if chance.random() < 0.2:
        return content[: chance.randrange(len(content))]
    changed = bytearray(content)
    reach = min(len(content), chance.choice((64, 512, 4096, len(content))))
    for _ in range(chance.choice((1, 4, 30))):
        changed[chance.randrange(reach)] = chance.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("members", [COMPILED, EXPORTED], ids=["compiled", "exported"])
def test_damaged_members_of_archives_of_torch(tmp_path: Path, members: dict[str, bytes]) -> None:
    chance, path = random.Random(3), tmp_path / "m.pt2"
    for _ in range(60):
        names = chance.sample(sorted(members), 2)
        write_as_torch(path, {**members, **{n: damaged(n, members[n], chance) for n in names}})
        start = time.monotonic()
        for look in (inspect, check):
            try:
                found: Any = look(path)
            except ArtifactError:
                continue
            assert repr(found)
            assert found._repr_html_()
        assert time.monotonic() - start < 10
