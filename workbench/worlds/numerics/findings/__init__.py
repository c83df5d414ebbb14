"""Why a compiled program departs from eager, judged by what was measured of each part."""

DOORS = {
    "causes": "The class of a numerical error, and the option that would change it.",
    "numerics_cures": "The options that are worth a trial.",
    "numerics_record": "The findings about one call, as a report keeps them.",
}
"""What other rooms import of this one."""
