"""A fleet of loopback origins, each with manners of its own."""
