"""GPUs as data: each number with the document that it comes from."""

from workbench.specs.catalogue import Catalogue
from workbench.specs.gpu import DTYPES, Gpu, Rates

__all__ = ["DTYPES", "Catalogue", "Gpu", "Rates"]
