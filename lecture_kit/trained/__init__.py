"""Models that the course has trained, stored here with their weights, and what they look at.

`translators` are the models of lectures 1 and 8, `learned` their attention weights on a few sentences, and
`copiers` the two models of lecture 12. The scripts in `sources/recorded/` train them.
"""
