"""What a program sets itself when it is first asked: found for a file, set where one is loaded."""

DOORS = {
    "late_attributes": "Attributes that an object sets itself, checked at a call that misses them.",
    "late_globals": "Globals that a program sets itself, checked after a load.",
}
"""What other rooms import of this one."""
