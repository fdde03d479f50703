"""The wire and the disk."""
