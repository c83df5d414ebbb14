"""Folders from which model servers serve a package: Triton Inference Server, TorchServe."""
