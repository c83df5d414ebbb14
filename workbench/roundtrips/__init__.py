"""The round trip: a file in fresh processes, several ways, timed and compared with eager."""
