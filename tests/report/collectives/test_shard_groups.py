"""The shards of a model in a record: what was written is read, what is damaged is named."""

from __future__ import annotations

import json

import pytest

from workbench.errors import ArtifactError
from workbench.report.collectives.shard_groups import ShardedModel, ShardedParameter, ShardGroup


def test_what_was_written_is_read_and_damage_is_named() -> None:
    parameter = ShardedParameter(("a.weight",), 64, 4, 2, 4, True)
    group = ShardGroup("a", (parameter,), 8, "kept", forward_prefetch=("b",))
    model = ShardedModel((group,), "model", ("scale",), 2)
    written = json.loads(json.dumps(model.to_extra()))
    assert ShardedModel.from_extra(written) == ShardedModel.from_extra(model.to_extra()) == model
    written["groups"][0]["parameters"][0]["elements"] = "64"
    words = r"its shards\): groups\[0\]\.parameters\[0\]\.elements is '64': expected a whole number"
    with pytest.raises(ArtifactError, match=words):
        ShardedModel.from_extra(written)
