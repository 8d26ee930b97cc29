"""Removed options, which files may still contain with the value that turned them off."""

REMOVED = {  # option: what to do instead
    "scheduled_sampling": "Train with examples/scheduled_sampling.",
    "shortlist": "Set it to 0: a search always uses the whole vocabulary.",
    "doubly_stochastic": "Set it to 0, or use `guided_alignment`.",
}


def drop_removed(settings):
    """Copy settings without the removed options. Raises ValueError if one of these is on."""
    settings = {**settings}  # raises TypeError unless it is a dictionary
    for name, advice in REMOVED.items():
        if settings.get(name):
            raise ValueError(
                f"`{name}` was removed and must be off. Received: {name}={settings[name]!r}. "
                f"{advice}"
            )
    return {name: value for name, value in settings.items() if name not in REMOVED}
