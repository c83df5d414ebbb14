"""Why a compiled program departs from eager, judged by what was measured of each part."""

DOORS = {
    "causes": "Classifies a numerical error, and names the option that would change it.",
    "numerics_cures": "Selects the options that are worth trying.",
    "numerics_record": "The findings about one call, as stored in a report.",
}
"""What other rooms import of this one."""
