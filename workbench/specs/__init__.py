"""GPUs as data: each number with the document that it comes from."""

from workbench.specs.catalogue import Catalogue
from workbench.specs.gpu import DTYPES, Gpu, Rates

DOORS = {
    "likeness": "A GPU that the catalogue does not have, by what it says of itself.",
}
"""What other rooms import of this one."""

__all__ = ["DTYPES", "Catalogue", "Gpu", "Rates"]
