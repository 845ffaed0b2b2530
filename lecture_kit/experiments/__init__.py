"""Tasks and models of experiments that several lectures and scripts share.

`known_language` is a language whose every sentence has a known probability, `block_variants` trains blocks
that differ in one thing at a time, and `repeated_tokens` asks models to copy.
"""
