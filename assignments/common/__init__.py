"""What the rubrics of several assignments share."""
