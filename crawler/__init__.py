"""A polite crawler for about twenty configured origins."""
