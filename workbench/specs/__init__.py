"""GPUs as data: each number with the document that it comes from."""

from workbench.specs.catalogue import Catalogue
from workbench.specs.gpu import DTYPES, Gpu, Rates

DOORS = {
    "device": "Describes a GPU of the catalogue as torch and Triton would.",
}
"""What other rooms import of this one."""

__all__ = ["DTYPES", "Catalogue", "Gpu", "Rates"]
