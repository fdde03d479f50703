"""What we publish about ourselves."""
