"""Attacks on the package through its public entry points, with a classification of the outcomes.

`outcomes` judges an answer, `zygote` runs code in a child process with limits, and `world` creates
the models to attack. Each other module contains the attacks on one entry point. `python -m fuzz`
(`make attacks`) runs all attacks at full size and writes the table.
"""
