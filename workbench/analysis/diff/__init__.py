"""What differs between two compilations, part by part."""
