"""Folders from which model servers serve a package: Triton Inference Server, TorchServe."""

DOORS = {
    "folders": "Writing the folder of one model for a model server.",
}
"""What other rooms import of this one."""
