"""Why a compiled program departs from eager, judged by what was measured of each part."""

DOORS = {
    "causes": "The class of a deviation, and what would change it.",
    "numerics_cures": "The options that are worth a trial.",
    "numerics_record": "What was found of one call, as a record keeps it.",
}
"""What other rooms import of this one."""
