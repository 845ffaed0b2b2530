"""Reference implementations for the course: small, exact, and meant to be read."""
