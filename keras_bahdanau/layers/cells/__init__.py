"""Recurrent cells in two parts: the product of the inputs, and the state update."""
