"""Removed options. Files may still contain them, with the value that turned them off."""

REMOVED = {  # option: what to do instead
    "scheduled_sampling": "Train with examples/scheduled_sampling.",
    "shortlist": "Set it to 0: a search reads the whole vocabulary.",
    "doubly_stochastic": "Set it to 0, or use `guided_alignment`.",
}


def drop_removed(settings):
    """Copy settings without removed options; raise ValueError if one is on."""
    settings = {**settings}  # a TypeError unless it is a dictionary
    for name, advice in REMOVED.items():
        if settings.get(name):
            raise ValueError(
                f"`{name}` was removed and must be off. Received: {name}={settings[name]!r}. "
                f"{advice}"
            )
    return {name: value for name, value in settings.items() if name not in REMOVED}
