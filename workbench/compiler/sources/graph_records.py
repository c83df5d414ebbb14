"""The records of graphs in torch's trace stream, and which stage was made from which."""

from __future__ import annotations

STAGE_OF = {
    "dynamo_output_graph": "dynamo",
    "before_pre_grad_graph": "before_pre_grad",
    "after_pre_grad_graph": "after_pre_grad",
    "aot_joint_graph": "joint",
    "aot_inference_graph": "inference",
    "before_joint_graph": "before_joint_passes",
    "after_joint_graph": "after_joint_passes",
    "aot_forward_graph": "forward",
    "aot_backward_graph": "backward",
    "before_post_grad_graph": "before_post_grad",
    "inductor_post_grad_graph": "after_post_grad",
}
"""The stage that each record of the trace stream shows."""

PARENTS = {
    "before_pre_grad": ("dynamo",),
    "after_pre_grad": ("before_pre_grad",),
    "joint": ("after_pre_grad", "dynamo"),
    "inference": ("after_pre_grad", "dynamo"),
    "before_joint_passes": ("inference", "joint"),
    "after_joint_passes": ("before_joint_passes",),
    "forward": ("after_joint_passes", "joint"),
    "backward": ("after_joint_passes", "joint"),
    "before_post_grad": ("forward", "backward", "after_joint_passes", "inference"),
    "after_post_grad": ("before_post_grad",),
}
"""The stages that a stage may have been made from, the likelier first."""

RETRACED = ("joint", "inference")
"""Stages whose nodes are new: an equal name is a coincidence."""
