"""Who vouches for a file."""

DOORS = {
    "team_signature": "A signature by a team's key, added to a file in place.",
    "trust": "Who vouches for a file: this user, teams, digests that were trusted.",
}
"""What other rooms import of this one."""
