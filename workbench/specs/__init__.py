"""GPUs as data: each number with the document that it comes from."""

from workbench.specs.catalogue import Catalogue
from workbench.specs.gpu import DTYPES, Gpu, Rates

DOORS = {
    "device": "A GPU of the catalogue, as torch and Triton describe it.",
}
"""What other rooms import of this one."""

__all__ = ["DTYPES", "Catalogue", "Gpu", "Rates"]
