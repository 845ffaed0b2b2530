"""The bank that all answers to this assignment go into."""

from assignments.bank import Bank

BANK = Bank("a3_scaled_dot_product_attention")
