"""What a program sets itself when it is first asked: found for a file, set where one is loaded."""

DOORS = {
    "late_attributes": "Attributes that an object sets on itself, checked if a call lacks them.",
    "late_globals": "Globals that a program sets itself, checked after loading.",
}
"""What other rooms import of this one."""
