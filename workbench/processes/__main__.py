"""The beginning of every child: `python -m workbench.processes PROGRAM DESCRIPTOR`."""

import sys
from importlib import import_module

from workbench.processes.parent import Parent

if __name__ == "__main__":
    parent = Parent(int(sys.argv[2]))
    sys.exit(import_module(sys.argv[1]).main(parent))
