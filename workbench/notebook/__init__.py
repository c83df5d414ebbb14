"""The workbench inside IPython: magics, completion, progress."""

DOORS = {
    "magics": "The magics; each parses its line and makes one API call.",
}
"""What other rooms import of this one."""
