"""What views call things, and how they write numbers and places."""
