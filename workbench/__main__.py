"""`python -m workbench` is the command `workbench`."""

import sys

from workbench.command_line.main import main

if __name__ == "__main__":
    sys.exit(main())
