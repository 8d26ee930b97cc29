"""Normalizers: from scores to weights."""
