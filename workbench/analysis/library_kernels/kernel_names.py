"""What a kernel is, read from its name alone."""

from __future__ import annotations

from functools import lru_cache

from workbench.analysis.library_kernels import (
    collective_names,
    matrix_core_names,
    product_names,
    torch_names,
)
from workbench.analysis.library_kernels.collective_names import name_collective as name_collective
from workbench.analysis.library_kernels.library_kernel import Kind as Kind
from workbench.analysis.library_kernels.library_kernel import LibraryKernel as LibraryKernel

_READERS = (
    collective_names.read_collective,  # a project's own stands beside its products, such as AITER's
    *product_names.list_readers(),
    *matrix_core_names.list_readers(),
    *torch_names.list_readers(),
)
_MOST_LETTERS = 4096


@lru_cache(maxsize=16_384)
def read_kernel_name(name: str) -> LibraryKernel:
    """What the name of a kernel says; a name that is not known is of kind "other"."""
    told = name[:_MOST_LETTERS]  # the name of a C++ type can have no end
    for read in _READERS:
        if (found := read(told)) is not None:
            return found
    return LibraryKernel(name)


def is_collective(name: str) -> bool:
    """Whether a kernel exchanges data with other ranks."""
    return read_kernel_name(name).kind == "collective"
