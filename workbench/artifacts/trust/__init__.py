"""Who vouches for a file."""

DOORS = {
    "team_signature": "Signs a file in place with a team's key.",
    "trust": "Checks who vouches for a file: this user, a team, or a trusted digest.",
}
"""What other rooms import of this one."""
