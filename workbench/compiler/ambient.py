"""The state around a compilation that another process has to share: modes, options, cells."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler import sources
from workbench.compiler import torch_private as tp
from workbench.compiler.state import GlobalState
from workbench.errors import UsageError

_CONFIGS = (tp.DYNAMO_CONFIG, tp.INDUCTOR_CONFIG, tp.FUNCTORCH_CONFIG)
_PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class Ambient:
    """What torch's answer depends on besides the code and its inputs."""

    grad: bool
    threads: int
    precision: str
    deterministic: bool
    dtype: torch.dtype
    autocast: tuple[tuple[str, torch.dtype], ...]
    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    state: str = ""

    @classmethod
    def current(cls) -> Ambient:
        """The state of this moment in this thread."""
        devices = [name for name in ("cpu", "cuda") if torch.is_autocast_enabled(name)]
        return cls(
            grad=torch.is_grad_enabled(),
            threads=torch.get_num_threads(),
            precision=torch.get_float32_matmul_precision(),
            deterministic=torch.are_deterministic_algorithms_enabled(),
            dtype=torch.get_default_dtype(),
            autocast=tuple((name, torch.get_autocast_dtype(name)) for name in devices),
            configs={config.target: _plain(config.get()) for config in _CONFIGS},
            state=json.dumps(GlobalState.current().snapshot, sort_keys=True),
        )


def _plain(config: Any) -> dict[str, Any]:
    values = config.get_config_copy()
    return {name: value for name, value in values.items() if isinstance(value, _PLAIN)}


@contextlib.contextmanager
def as_in_parent(ambient: Ambient, cells: Mapping[str, int]) -> Iterator[None]:
    """Make this process like the one that asked.

    Raises `UsageError` where it cannot be made so.
    """
    with contextlib.ExitStack() as stack:
        torch.set_num_threads(ambient.threads)
        torch.set_float32_matmul_precision(ambient.precision)
        torch.use_deterministic_algorithms(ambient.deterministic)
        torch.set_default_dtype(ambient.dtype)
        for config in _CONFIGS:
            here, wanted = _plain(config.get()), ambient.configs[config.target]
            changed = {k: v for k, v in wanted.items() if k in here and here[k] != v}
            stack.enter_context(config.get().patch(changed))
        for device, dtype in ambient.autocast:
            stack.enter_context(torch.autocast(device, dtype=dtype))
        stack.enter_context(torch.set_grad_enabled(ambient.grad))
        token = sources.CELLS.set(dict(cells))
        stack.callback(sources.CELLS.reset, token)
        _compare(ambient)
        yield


def _compare(ambient: Ambient) -> None:
    wanted, here = json.loads(ambient.state), GlobalState.current().snapshot
    differing = [name for name in wanted if wanted[name] != here.get(name)]
    if differing:
        raise UsageError(
            f"The worker cannot have the same {', '.join(differing)} as this process. Compile it "
            "here with aot_compile."
        )
