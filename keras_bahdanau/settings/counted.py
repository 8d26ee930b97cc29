"""Numbers of things in words, of which a single one has its singular."""


def counted(number, plural):
    """A number of things in words.

    Args:
        number: Integer.
        plural: String, the regular plural of what is counted.

    Example:
        >>> counted(1, "batches"), counted(2000, "training pairs")
        ('1 batch', '2,000 training pairs')
    """
    singular = plural.removesuffix("es") if plural.endswith("ches") else plural.removesuffix("s")
    return f"{number:,} {singular if number == 1 else plural}"
