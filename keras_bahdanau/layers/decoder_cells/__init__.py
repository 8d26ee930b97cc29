"""Decoder cells: one step each, which training scans, and search and exported files iterate."""
