"""Recurrent cells in two parts: the product of the inputs, and the step of the state."""
