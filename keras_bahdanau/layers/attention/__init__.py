"""Attention mechanisms with a common interface, including one for models without attention."""
