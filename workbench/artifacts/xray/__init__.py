"""What is inside a file, learnt without executing anything from it."""

from workbench.artifacts.xray.looking import inspect
from workbench.artifacts.xray.report import ArtifactReport

__all__ = ["ArtifactReport", "inspect"]
