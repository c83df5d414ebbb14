"""What one rank knows of the other ranks, and being that rank in another process.

A fake process group of torch's own stands for the network: collectives can be compiled for any
number of ranks, and none sends anything.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches
from workbench.errors import CaptureError, UsageError

if TYPE_CHECKING:
    pass

_TIMEOUT = timedelta(minutes=30)  # a fake group waits for nobody, but one without it is refused
_TOPOLOGY, _IS_FAKE, MESH = "workbench_topology", "workbench_is_fake", "workbench_mesh"


@dataclass(frozen=True)
class Topology:
    """GPUs of a node, and GB/s of one GPU to the others of its node and to other nodes.

    Where a rate is not given, torch's own table for the generation of the GPU holds.
    """

    gpus_per_node: int = 8
    nvlink_gb_s: float | None = None
    nic_gb_s: float | None = None

    def options(self) -> dict[str, float]:
        """Options of Inductor that make its estimates of collectives use the given rates."""
        bandwidths = {"intra_node_bw": self.nvlink_gb_s, "inter_node_bw": self.nic_gb_s}
        return {name: rate for name, rate in bandwidths.items() if rate is not None}


@dataclass(frozen=True)
class Group:
    """A process group by its name, which graphs hold as a constant, and the ranks in it."""

    name: str
    ranks: tuple[int, ...]
    description: str

    @property
    def mesh_dims(self) -> str:
        """What a mesh calls it, such as "tp"; what it was described as where no mesh made it."""
        named = self.description.removeprefix("mesh_")
        return "" if named == "undefined" else named


@dataclass(frozen=True)
class Cluster:
    """The rank that a process is, and its process groups; `world` is the name of that of all.

    A fake one sends nothing. `mesh` are the dimensions that `wb.virtual_cluster` was given, none
    where it made no group.
    """

    rank: int
    world_size: int
    world: str
    groups: tuple[Group, ...]
    is_fake: bool
    topology: Topology = field(default_factory=Topology)
    mesh: Mapping[str, int] = field(default_factory=dict)

    @property
    def by_name(self) -> Mapping[str, Group]:
        """Every process group, that of all ranks too."""
        everyone = Group(self.world, tuple(range(self.world_size)), "all ranks")
        return {group.name: group for group in (everyone, *self.groups)}

    @property
    def facts(self) -> Mapping[str, Any]:
        """What a record says of it."""
        own: dict[str, Any] = {"rank": self.rank, "world_size": self.world_size}
        own |= {"is_fake": self.is_fake, "mesh": dict(self.mesh)}
        return own | {name: x for name, x in asdict(self.topology).items() if x is not None}

    def count_nodes(self, ranks: Iterable[int]) -> int:
        """On how many nodes these ranks are, whatever lies between them."""
        return len({rank // self.topology.gpus_per_node for rank in ranks})


def find_cluster() -> Cluster | None:
    """That of this process, its process group fake or real; None where it has none."""
    dist: Any = sys.modules.get("torch.distributed")
    if dist is None or not (dist.is_available() and dist.is_initialized()):
        return None
    world = tp.DISTRIBUTED_WORLD.get()
    names: Mapping[Any, str] = world.pg_names
    groups = [
        Group(name, tuple(dist.get_process_group_ranks(group)), group.group_desc)
        for group, name in names.items()
        if group is not dist.group.WORLD
    ]
    topology = getattr(world, _TOPOLOGY, Topology())
    return Cluster(
        rank=dist.get_rank(),
        world_size=dist.get_world_size(),
        world=names[dist.group.WORLD],
        groups=tuple(groups),
        is_fake=getattr(world, _IS_FAKE, dist.get_backend() == "fake"),
        topology=topology,
        mesh=getattr(world, MESH, {}),
    )


@contextmanager
def enter_cluster(cluster: Cluster | None) -> Iterator[None]:
    """Be that rank, with the same groups under the same names; without a cluster, nothing.

    The process must have no process group yet, and has none afterwards; a virtual GPU is entered
    in here, not around it.
    """
    if cluster is None:
        yield
        return
    import torch.distributed as dist
    from torch.distributed.device_mesh import DeviceMesh

    store = tp.FAKE_STORE.get()()
    with keep_process_state() as process_patches:
        # guards copy the mesh of a tensor, under a fake mode, where its ranks have no numbers
        process_patches.attribute(DeviceMesh, "__deepcopy__", lambda self, memo: self)
        # torch asks nvidia-smi, then a binding that a build without CUDA lacks
        process_patches.name(tp.HAS_NVLINK, lambda: True)
        process_patches.enter_context(tp.INDUCTOR_CONFIG.get().patch(cluster.topology.options()))
        dist.init_process_group(
            "fake", store=store, rank=cluster.rank, world_size=cluster.world_size
        )
        process_patches.callback(dist.destroy_process_group)
        # a new group has Dynamo forget its rules for functions of torch: made anew beside a virtual
        # GPU, they would be for what stands in for torch.cuda, and capture of it would fail
        tp.DYNAMO_RULES.get()()
        keep_topology(cluster.topology, process_patches)
        # the group is a fake here even where it is real for the user
        process_patches.attribute(tp.DISTRIBUTED_WORLD.get(), _IS_FAKE, cluster.is_fake)
        process_patches.attribute(tp.DISTRIBUTED_WORLD.get(), MESH, cluster.mesh)
        if (name := tp.DISTRIBUTED_WORLD.get().pg_names[dist.group.WORLD]) != cluster.world:
            raise CaptureError(
                f"The group of all ranks is called {cluster.world!r} here and {name!r} in the "
                "compile process, and torch writes that name into the code. Create the group once, "
                "with torch.distributed.init_process_group or wb.virtual_cluster."
            )
        for group in cluster.groups:
            _join(group, cluster.rank, store)
        yield


@contextmanager
def keep_process_state() -> Iterator[ProcessPatches]:
    """What a process group leaves in a process is undone afterwards, as what is set here is."""
    with ProcessPatches() as process_patches:
        # torch puts its rank in front of every traceback, for good
        process_patches.attribute(sys, "excepthook", sys.excepthook)
        # meshes of equal ranks are equal, whichever of them this process is: torch answers one
        # with the mesh, and the shards, of the other
        _forget_meshes()
        process_patches.callback(_forget_meshes)
        yield process_patches


def _forget_meshes() -> None:
    if "torch.distributed.tensor" in sys.modules:  # importing it takes a second
        for forget in tp.MESH_CACHES:
            forget.get()()


def keep_topology(topology: Topology, process_patches: ProcessPatches) -> None:
    """Keep it beside the process group of this process, as long as that is there."""
    process_patches.attribute(tp.DISTRIBUTED_WORLD.get(), _TOPOLOGY, topology)


def _join(group: Group, rank: int, store: Any) -> None:
    from torch.distributed import Backend

    ranks = list(group.ranks)
    process_group, _ = tp.NEW_PROCESS_GROUP.get()(
        len(ranks),
        ranks.index(rank),
        ranks,
        Backend("fake"),
        store,
        group.name,
        timeout=_TIMEOUT,
        group_desc=group.description,
    )
    members = {rank: place for place, rank in enumerate(ranks)}
    tp.DISTRIBUTED_WORLD.get().pg_group_ranks[process_group] = members


def refuse_hooks(name: str, module: Any) -> None:
    """Raise `UsageError` for a module in which hooks around a call send something.

    What `fully_shard` of torch's FSDP makes, FSDP1, and DistributedDataParallel inside of a module:
    torch traces none of their hooks (2.11 to 2.15), so that there is no graph of the whole.
    """
    if module is None:
        return
    parts = [(path or name, part) for path, part in module.named_modules()]
    ddp: Any = getattr(sys.modules.get("torch.nn.parallel"), "DistributedDataParallel", None)
    if inner := next((path for path, part in parts if ddp and isinstance(part, ddp)), None):
        raise UsageError(
            f"{inner} is a DistributedDataParallel inside {name}, and torch captures none of its "
            "hooks. Wrap the whole module in DistributedDataParallel, or compile the wrapped "
            "module."
        )
    refuse_shards(name, module)


def refuse_shards(name: str, module: Any) -> None:
    """Raise `UsageError` for FSDP1 and what `fully_shard` makes, which cannot be copied either."""
    if module is None:
        return
    parts = [(path or name, part) for path, part in module.named_modules()]
    fsdp: Any = sys.modules.get("torch.distributed.fsdp")
    first: Any = getattr(fsdp, "FullyShardedDataParallel", ())
    if flat := next((path for path, part in parts if isinstance(part, first)), None):
        where = "The module" if isinstance(module, first) else flat
        raise UsageError(
            f"{where} is a FullyShardedDataParallel (FSDP1), which gathers flat parameters in "
            "hooks that torch does not capture. Shard the model with fully_shard (FSDP2) and "
            "compile it for a virtual GPU, or compile the module before it is wrapped."
        )
    kind = getattr(fsdp, "FSDPModule", None)
    if sharded := next((path for path, part in parts if kind and isinstance(part, kind)), None):
        raise UsageError(
            f"{sharded} was sharded by fully_shard, which gathers parameters in hooks that torch "
            "does not capture in one graph. Compile it with aot_compile for a virtual GPU, such "
            "as target='h100', with its process groups set up; the communication of the hooks is "
            "then listed. Or compile the module without fully_shard, or use SimpleFSDP (DTensor "
            "parameters by parametrization), whose collectives are in the graph."
        )
