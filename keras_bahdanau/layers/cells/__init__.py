"""Recurrent cells, split into a projection of the inputs and an update of the state."""
