"""What a user holds: compiled functions, packages, jobs and what they answer."""
