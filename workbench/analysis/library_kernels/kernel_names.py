"""What a kernel is, read from its name alone."""

from __future__ import annotations

import re
from functools import lru_cache

from workbench.analysis.library_kernels import matrix_core_names, product_names, torch_names
from workbench.analysis.library_kernels.library_kernel import Kind as Kind
from workbench.analysis.library_kernels.library_kernel import LibraryKernel as LibraryKernel

_NCCL = re.compile(r"nccl(?:Symk?)?(?:Dev)?Kernel|rccl\w*Kernel|mscclKernel", re.IGNORECASE)
_WITH_PRODUCT = re.compile(r"gemm|matmul|(?<![a-z])mm_", re.IGNORECASE)
"""Kernels that multiply and exchange in one: they are taken for products."""
_LOCAL = re.compile(r"layout|reset|local_device_load")
"""Kernels of the same projects that read or write on their own GPU alone."""
_OTHERS = (
    (
        "symmetric memory",
        r"multimem_\w*(?:reduce|gather|scatter|broadcast)|(?:one|two)_shot_all_?reduce"
        r"|two_shot_\w*reduce_scatter|exchangeSplitAndOffset|allToAllV(?:_2d)?(?![a-z])",
    ),
    ("quickreduce", r"quickreduce::|allreduce_prototype_"),
    (
        "NVSHMEM",
        r"(?:nv|roc)shmemx?i?_"
        r"|(?:barrier|sync|alltoall|broadcast|fcollect|rdxn|reduce)\w*_on_stream_kernel",
    ),
    (
        "DeepEP",
        r"(?:deep_ep|intranode|internode|internode_ll)::(?:\w+::)*"
        r"\w*(?:dispatch|combine|notify|barrier)|(?:cached_)?notify_(?:dispatch|combine)",
    ),
    (
        "expert exchange",
        r"Ep(?:Dispatch|Combine)\w*Kernel|(?i:moe_?(?:a2a|all_?to_?all))|a2a_(?:dispatch|combine)"
        r"|\w*(?:intra|inter)node_alltoall|pplx\w*::(?:\w+::)*\w*(?:dispatch|combine)",
    ),
    ("userbuffers", r"k?userbuffers_"),
    ("MSCCL++", r"mscclpp"),
    (
        "custom all-reduce",
        r"cross_device_(?:reduce|all_?gather)|\w*_cross_device_store|\w*all_?reduce_fusion"
        r"|\w*(?:all_?reduce|reduce_?scatter|all_?gather|all_?to_?all)\w*_kernel"
        r"|\w*(?i:AllReduce|ReduceScatter|AllGather|AllToAll)\w*Kernel"
        r"|(?:one|two)_?shot\w*(?i:all_?reduce)",
    ),
)
_KNOWN = [(library, re.compile(rf"(?<![A-Za-z0-9_])(?:{pattern})")) for library, pattern in _OTHERS]
_MANGLED = re.compile(r"^_ZN?[A-Z]*|(?<=[A-Za-z0-9_])\d+(?=[a-z]\w{5})")
_KINDS = (
    ("dispatch", r"dispatch"),
    ("combine", r"combine"),
    ("reducescatter", r"reduce_?scatter|_rs(?![a-z])"),
    ("allgather", r"all_?gather|fcollect|_ag(?![a-z])"),
    ("alltoall", r"all_?to_?all|a2a|splitandoffset"),
    ("allreduce", r"all_?reduce|cross_device_reduce|rdxn|one_shot_reduce|userbuffers\w*_sum"),
    ("broadcast", r"broadcast"),
    ("reduce", r"reduce"),
    ("sendrecv", r"send_?recv|push|pull|put|get"),
    ("send", r"send"),
    ("recv", r"recv"),
    ("gather", r"gather"),
    ("scatter", r"scatter"),
    ("barrier", r"barrier|sync"),
)


def read_collective(name: str) -> LibraryKernel | None:
    """A kernel of NCCL or RCCL, whose names are the same, or another that exchanges data."""
    if "at::native" in name:
        return None
    if (match := _NCCL.search(name)) is not None:
        kind = re.match(r"_([A-Za-z]+)", name[match.end() :])
        return LibraryKernel(name, "collective", "NCCL or RCCL", None if kind is None else kind[1])
    text = _cut(name)
    if _WITH_PRODUCT.search(text) or _LOCAL.search(text):
        return None
    for library, pattern in _KNOWN:
        if pattern.search(text) is not None:
            return LibraryKernel(name, "collective", library, name_collective(text))
    return None


def _cut(name: str) -> str:
    """The name without its types and arguments; of a mangled one its words, parted by colons."""
    if name.startswith("_Z"):
        return _MANGLED.sub("::", name)
    plain = name.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    return re.split(r"[<(]", plain, maxsplit=1)[0]


def name_collective(name: str) -> str:
    """What a kernel or an operator does among the ranks, in a word such as "allreduce"."""
    plain = _cut(name).lower()
    return next((kind for kind, sign in _KINDS if re.search(sign, plain)), "collective")


_READERS = (
    read_collective,  # a project's own stands beside its products, such as AITER's
    *product_names.list_readers(),
    *matrix_core_names.list_readers(),
    *torch_names.list_readers(),
)
_MOST_LETTERS = 4096


@lru_cache(maxsize=16_384)
def read_kernel_name(name: str) -> LibraryKernel:
    """What the name of a kernel says; a name that is not known is of kind "other"."""
    text = name[:_MOST_LETTERS]  # the name of a C++ type can have no end
    for reader in _READERS:
        if (kernel := reader(text)) is not None:
            return kernel
    return LibraryKernel(name)


def is_collective(name: str) -> bool:
    """Whether a kernel exchanges data with other ranks."""
    return read_kernel_name(name).kind == "collective"
