"""Mistakes that real projects made in what assignment 11 asks for."""
