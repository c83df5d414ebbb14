"""The contract in a manifest: what was written is read, what is damaged is named with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from workbench.compiler.calls.paths import Path
from workbench.compiler.contract.contract import Contract, describe
from workbench.compiler.contract.shared_memory import Shared, SharedMemory
from workbench.compiler.package_calls.call_check import CallContract
from workbench.compiler.sizes.dims import Dynamic
from workbench.errors import ArtifactError

LEAF = describe(Path("x").item(0), torch.ones(2, 3))


def stored(**change: Any) -> dict[str, Any]:
    data = Contract((LEAF,), "self", True).to_json()
    (leaf,) = data["leaves"]
    leaf["shape"] = [{"name": "batch", "min": 2, "later": 1}, 3]
    leaf.update(change)
    read: dict[str, Any] = json.loads(json.dumps(data))
    return read


def test_what_was_written_is_read() -> None:
    contract = Contract.from_json(stored(novelty="of a later release"))
    (leaf,) = contract.leaves or ()
    assert leaf.shape == (Dynamic("batch", 2), 3)
    assert (leaf.path, leaf.sizes, leaf.stride) == (LEAF.path, (2, 3), (3, 1))
    assert (contract.receiver, contract.training) == ("self", True)
    memory = SharedMemory(("x", "y"), (Shared(0, 1, 8, 64),))
    assert SharedMemory.from_json(json.loads(json.dumps(memory.to_json()))) == memory


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dtype": 5}, r"leaves\[0\]\.dtype is 5: expected a text"),
        ({"sizes": [2, "3"]}, r"leaves\[0\]\.sizes\[1\] is '3': expected a whole number"),
        ({"shape": [{"name": 1}]}, r"leaves\[0\]\.shape\[0\]\.name is 1: expected a text or None"),
    ],
)
def test_a_damaged_contract_is_refused_in_a_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ArtifactError, match=rf"The inputs in the manifest are damaged \({words}"):
        Contract.from_json(stored(**change))
    with pytest.raises(ArtifactError, match=rf"The inputs of m in the manifest .*{words}"):
        CallContract.of("m", stored(**change), torch.device("cpu"))


def test_damaged_shared_memory_is_refused_in_a_sentence() -> None:
    with pytest.raises(ArtifactError, match=r"shared\[0\] is \[0, 1\]: expected a list of 4"):
        SharedMemory.from_json({"names": ["x", "y"], "shared": [[0, 1]]})
