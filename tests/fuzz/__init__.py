"""Attacks on the package through its public entries, and the classification of their outcomes.

`outcomes` judges an answer, `zygote` runs code in a child under limits, `world` makes the models
that are attacked; each other module holds the attacks on one entry. `python -m fuzz` (`make
attacks`) runs all of them at full size and writes the table.
"""
