"""Options, checks and limits that every part shares."""
