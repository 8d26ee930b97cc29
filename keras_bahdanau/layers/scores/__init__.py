"""Scores, which measure how well a query and a key match, before the softmax."""
