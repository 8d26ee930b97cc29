"""One decoder step: training scans it; search and exported files iterate it."""
