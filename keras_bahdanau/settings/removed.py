"""Options that were removed. Files may still hold them, at the value that turned them off."""

REMOVED = {  # name: what to do instead
    "scheduled_sampling": "Train with examples/scheduled_sampling.",
    "shortlist": "Give 0 for it: a search reads the whole vocabulary.",
    "doubly_stochastic": "Give 0 for it, or take `guided_alignment`.",
}


def drop_removed(settings):
    """A copy of settings without the removed options, which must be off.

    Args:
        settings: Dictionary, such as a config or the options that a file holds.

    Raises:
        ValueError: If a removed option is on.
    """
    settings = {**settings}  # a TypeError for what is no dictionary
    for name, advice in REMOVED.items():
        if settings.get(name):
            raise ValueError(
                f"`{name}` was removed and must be off. Received: {name}={settings[name]!r}. "
                f"{advice}"
            )
    return {name: value for name, value in settings.items() if name not in REMOVED}
