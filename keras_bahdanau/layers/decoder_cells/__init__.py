"""One target step: training scans it, search and the exported files iterate it."""
