"""What the answers to several parts share."""

from torch import nn


class Maps(nn.Module):
    """The two maps that the text names."""

    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.p = dropout
