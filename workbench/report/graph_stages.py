"""The stages of a graph, in the order of the compiler, and what each calls its inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class GraphStage:
    """What a graph is between two passes.

    `record` names it in torch's trace stream. `parents` are the stages that it may have been made
    from, the likelier first. `is_whole` says that it is of forward and backward, where there
    are both, `is_retraced` that its nodes are new: an equal name is a coincidence. `is_keyed`: a
    key of torch's cache may be of it.
    """

    name: str
    title: str
    record: str
    parents: tuple[str, ...] = ()
    is_whole: bool = True
    is_retraced: bool = False
    is_keyed: bool = False


_ALL = (
    # the captured graph, whoever captured it: Dynamo, or torch.export for a package
    GraphStage("dynamo", "Captured graph", "dynamo_output_graph"),
    GraphStage("before_pre_grad", "Before pre-grad passes", "before_pre_grad_graph", ("dynamo",)),
    GraphStage(
        "after_pre_grad", "After pre-grad passes", "after_pre_grad_graph", ("before_pre_grad",)
    ),
    GraphStage(
        "joint",
        "Joint forward and backward",
        "aot_joint_graph",
        ("after_pre_grad", "dynamo"),
        is_retraced=True,
        is_keyed=True,
    ),
    GraphStage(
        "before_joint_passes", "Before joint passes", "before_joint_graph", ("inference", "joint")
    ),
    GraphStage(
        "after_joint_passes",
        "After joint passes",
        "after_joint_graph",
        ("before_joint_passes",),
        is_keyed=True,
    ),
    GraphStage(
        "forward",
        "Forward",
        "aot_forward_graph",
        ("after_joint_passes", "joint"),
        is_whole=False,
        is_keyed=True,
    ),
    GraphStage(
        "backward",
        "Backward",
        "aot_backward_graph",
        ("after_joint_passes", "joint"),
        is_whole=False,
    ),
    GraphStage(
        "inference",
        "Inference",
        "aot_inference_graph",
        ("after_pre_grad", "dynamo"),
        is_whole=False,
        is_retraced=True,
        is_keyed=True,
    ),
    GraphStage(
        "before_post_grad",
        "Before post-grad passes",
        "before_post_grad_graph",
        ("forward", "backward", "after_joint_passes", "inference"),
        is_whole=False,
        is_keyed=True,
    ),
    GraphStage(
        "after_post_grad",
        "After post-grad passes",
        "inductor_post_grad_graph",
        ("before_post_grad",),
        is_whole=False,
    ),
)
GRAPH_STAGES: Mapping[str, GraphStage] = {stage.name: stage for stage in _ALL}
STAGES = tuple(GRAPH_STAGES)
"""Their names."""
BY_RECORD: Mapping[str, str] = {stage.record: stage.name for stage in _ALL}
"""The stage that each record of the trace stream shows."""

_NUMBERED = re.compile(r"(?:arg(\d+)_1|primals_(\d+))$")
_INPUT = re.compile(r"(?:arg\d+_1|(?:primals|tangents)_\d+)$")
_STATE = re.compile(r"_(?:parameters|buffers)_")


def place_of(name: str) -> int | None:
    """The place in the captured graph of an input that later stages number; None for others."""
    match = _NUMBERED.match(name)
    if match is None:
        return None
    return int(match[1]) if match[1] is not None else int(match[2]) - 1


def is_input_name(name: str) -> bool:
    """Whether it names an input of a lowered graph, such as `primals_1`, and no operation."""
    return _INPUT.match(name) is not None


def is_weight_name(target: str) -> bool:
    """Whether Dynamo's name of an input is one of a parameter or buffer."""
    return _STATE.search(f"_{target}") is not None


def name_input(target: str) -> str:
    """`L_self_modules_qkv_parameters_weight_` as a person would say it: `qkv.weight`."""
    text = target.removeprefix("L_").removeprefix("l_").removesuffix("_")
    if not is_weight_name(target):
        return text
    text = text.removeprefix("self_")
    return re.sub(r"_?(?:modules|parameters|buffers)_", ".", text).lstrip(".")
