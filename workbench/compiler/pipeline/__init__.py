"""The named steps of a compilation, from the request to what they leave behind."""
