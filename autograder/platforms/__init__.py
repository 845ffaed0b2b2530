"""Other people's platforms: what an assignment needs to be graded there, and what they read of it."""
