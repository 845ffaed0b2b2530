"""From what an author writes to what students open: tags become nbgrader's metadata, answers go."""
