"""How a process group and a mesh of devices get to a process that compiles for a virtual GPU.

A group is found again by its name, which graphs hold too; a mesh arrives as one of GPUs, and finds
its groups by their names as well.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.device_kinds import GPU
from workbench.errors import UsageError


def reduce_group(value: Any) -> Any | None:
    """How a process group or a mesh is pickled, as `__reduce_ex__` gives it; None for all else.

    Raises `UsageError` for a mesh whose process groups are not those of this process any more.
    """
    dist: Any = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available():
        return None
    if isinstance(value, dist.ProcessGroup):
        return tp.RESOLVE_PROCESS_GROUP.get(), (value.group_name,)
    if isinstance(value, dist.device_mesh.DeviceMesh):
        require_groups(value)
        state = value.__getstate__()
        tensors = {name: part for name, part in state.items() if isinstance(part, torch.Tensor)}
        ranks = {name: (part.tolist(), part.dtype) for name, part in tensors.items()}
        plain = {name: part for name, part in state.items() if name not in tensors}
        # its hash is of the device too
        plain |= {"_device_type": GPU, "_hash": None}
        return _make_mesh, (ranks,), plain, None, None, _set_state
    return None


def require_groups(mesh: Any) -> None:
    """Raise `UsageError` unless the process groups of a mesh are those of this process."""
    import torch.distributed as dist

    if dist.is_initialized():
        known = {group.group_name: group for group in tp.DISTRIBUTED_WORLD.get().pg_names}
        names = [group.group_name for group in _find_groups(mesh)]
        sizes = [known[name].size() if name in known else 0 for name in names]
        if names and sizes == list(mesh.shape):
            return
    raise UsageError(
        f"{mesh} was made in a cluster that is not there any more. Build the model and compile it "
        "inside the same `with wb.virtual_cluster(…)`, or beside the process group that it was "
        "built with."
    )


def _find_groups(mesh: Any) -> list[Any]:
    try:
        return list(mesh.get_all_groups())
    except (RuntimeError, ValueError, KeyError):  # torch knows no group of that name
        return []


def _make_mesh(ranks: Mapping[str, tuple[Any, torch.dtype]]) -> Any:
    from torch.distributed.device_mesh import DeviceMesh

    mesh = DeviceMesh.__new__(DeviceMesh)
    with tp.UNSET_FAKE.get()():  # torch reads numbers out of the ranks
        for name, (numbers, dtype) in ranks.items():
            setattr(mesh, name, torch.tensor(numbers, dtype=dtype, device="cpu"))
    return mesh


def _set_state(mesh: Any, state: Mapping[str, Any]) -> None:
    mesh.__setstate__(state)
    # parts of a mesh share the groups of the whole, flattened ones too; each got its own alone
    groups = {group.group_name: group for group in tp.DISTRIBUTED_WORLD.get().pg_names}
    vars(mesh).setdefault("_pg_registry", {}).update(groups)
