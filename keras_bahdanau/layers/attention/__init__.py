"""Attention mechanisms, and no attention, behind one interface."""
