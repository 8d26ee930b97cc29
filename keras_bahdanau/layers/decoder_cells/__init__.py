"""Decoder cells, which compute one decoder step in training, search and exported files."""
