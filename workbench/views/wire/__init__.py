"""What travels between Python and the front end, as types, and how it is packed."""
