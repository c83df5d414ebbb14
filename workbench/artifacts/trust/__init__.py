"""Who vouches for a file."""

DOORS = {
    "team_signature": "Adds the signature of a team's key to a file in place.",
    "trust": "Checks who vouches for a file: this user, a team, or a trusted digest.",
}
"""What other rooms import of this one."""
