"""Into a learning platform and back: its tables of scores, its archives of submissions and feedback."""
