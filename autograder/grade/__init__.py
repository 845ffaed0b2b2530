"""One submission: read, put back into the shape that was released, run, decided, cleaned."""
