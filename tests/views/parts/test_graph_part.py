"""The part of a graph: names, ties to lines, kernels and earlier stages, quiet nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import UsageError
from workbench.report import Report
from workbench.report.graph_stages import name_input
from workbench.views.parts.report_parts import build_changes_part, build_graph_part, strip_op_name
from workbench.views.wire.report_messages import GraphPart

RECORD = Path(__file__).parents[2] / "records" / "block.wbr"


@pytest.fixture(scope="module")
def block() -> Report:
    return Report.load(RECORD)


@pytest.fixture(scope="module")
def part(block: Report) -> GraphPart:
    return build_graph_part(block, "g7")


def node(part: GraphPart, name: str) -> int:
    return part["names"].index(name)


def test_every_column_has_an_entry_per_node(part: GraphPart) -> None:
    single = {"kind", "id", "modules", "kernels", "width", "height", "routes"}
    lengths = {len(value) for name, value in part.items() if name not in single}  # type: ignore[arg-type]
    assert lengths == {91}
    for start, end, *points in part["routes"]:
        steps = part["level"][int(end)] - part["level"][int(start)]
        assert len(points) == 4 * steps
        assert steps > 1


def test_a_node_knows_its_line_kernel_module_and_origin(part: GraphPart) -> None:
    mm = node(part, "mm")
    assert part["lines"][mm] == "L:s0:24"
    assert part["kernels"][part["kernel"][mm]] == "k1"
    assert part["modules"][part["module"][mm]] == "qkv"
    assert part["before"][mm] == ["g6:mm"]
    assert (part["shapes"][mm], part["strides"][mm]) == ("[256, 768]", "[768, 1]")
    assert (part["dtypes"][mm], part["bytes"][mm]) == ("f32", 786432)


def test_a_node_of_the_captured_graph_knows_the_kernel_that_it_ended_in(block: Report) -> None:
    part = build_graph_part(block, "g0")
    assert part["kernels"][part["kernel"][node(part, "softmax")]] == "k6"


def test_views_and_weights_are_quiet_and_inputs_are_not(part: GraphPart) -> None:
    quiet = {
        name for name, is_quiet in zip(part["names"], part["is_quiet"], strict=True) if is_quiet
    }
    assert {"arg2_1", "view", "permute", "getitem", "unsqueeze", "full_default"} <= quiet
    assert not {"arg0_1", "mm", "topk", "clone", "output"} & quiet


def test_inputs_of_a_late_stage_are_called_as_in_the_users_code(part: GraphPart) -> None:
    assert part["targets"][node(part, "arg0_1")] == "x"
    assert part["targets"][node(part, "arg2_1")] == "qkv.weight"


def test_every_kernel_has_a_node_that_is_shown(part: GraphPart) -> None:
    shown = {k for k, quiet in zip(part["kernel"], part["is_quiet"], strict=True) if not quiet}
    assert set(range(len(part["kernels"]))) <= shown


def test_an_unknown_graph_is_named(block: Report) -> None:
    with pytest.raises(UsageError, match="Unknown graph 'g99'"):
        build_graph_part(block, "g99")


def test_changes_travel_as_lists(block: Report) -> None:
    part = build_changes_part(block, "g4", "g5")
    assert part["added"] == ["g5:full_default"]
    assert part["kept"] == 90


@pytest.mark.parametrize(
    ("target", "base"),
    [("aten.add.Tensor", "add"), ("operator.getitem", "getitem"), ("view", "view")],
)
def test_the_operation_without_its_namespace(target: str, base: str) -> None:
    assert strip_op_name(target) == base


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("L_x_", "x"),
        ("l_self_parameters_norm_", "norm"),
        ("L_self_modules_h_modules_0_modules_attn_buffers_bias_", "h.0.attn.bias"),
        ("tangents_1", "tangents_1"),
    ],
)
def test_inputs_are_named_as_a_person_would(target: str, said: str) -> None:
    assert name_input(target) == said
