"""What the user calls; each function wires the rooms together and holds no logic of its own."""

from __future__ import annotations

from workbench.analysis.sweep.goals import OBJECTIVES as OBJECTIVES
from workbench.analysis.sweep.goals import STRATEGIES as STRATEGIES
from workbench.api.compiling import *  # noqa: F403
from workbench.api.compiling import warm_up as warm_up
from workbench.api.evaluation import *  # noqa: F403
from workbench.api.files import *  # noqa: F403
from workbench.api.programs import *  # noqa: F403
from workbench.api.showing import *  # noqa: F403
from workbench.api.showing import target_names as target_names
from workbench.compiler.contract.request import GUARD_POLICIES as GUARD_POLICIES
from workbench.compiler.contract.request import MODES as MODES
from workbench.compiler.contract.request import TARGETS as TARGETS
