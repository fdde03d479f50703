"""May I ask, and when? Decides, and never waits."""
