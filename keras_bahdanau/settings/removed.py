"""Options that were removed. Files may still hold them, at the value that turned them off."""

REMOVED = {  # name: what to do instead
    "scheduled_sampling": "Train with examples/scheduled_sampling.",
    "shortlist": "Give 0 for it: a search reads the whole vocabulary.",
    "doubly_stochastic": "Give 0 for it, or take `guided_alignment`.",
}


def drop_removed(settings):
    """Copy settings without the removed options; raise ValueError if one is on."""
    settings = {**settings}  # a TypeError for what is no dictionary
    for name, advice in REMOVED.items():
        if settings.get(name):
            raise ValueError(
                f"`{name}` was removed and must be off. Received: {name}={settings[name]!r}. "
                f"{advice}"
            )
    return {name: value for name, value in settings.items() if name not in REMOVED}
