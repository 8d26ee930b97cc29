"""Figures one after the other, as a GIF."""

from matplotlib.animation import PillowWriter

SECONDS = 1.6  # of a frame


def write_animation(figures, path):
    """Write a GIF that shows figures in their order, again and again.

    Args:
        figures: Iterable of one figure or more, all of one size.
        path: Path of the file.

    Raises:
        ValueError: If the path does not end in ".gif".

    Example:
        >>> write_animation([plot_alignment(result) for result in results], "results.gif")
    """
    if not str(path).lower().endswith(".gif"):
        raise ValueError(
            f"An animation's name must end in .gif. Received: path={str(path)!r}. Rename it."
        )
    writer = PillowWriter(fps=1 / SECONDS)
    for number, figure in enumerate(figures):
        if not number:
            writer.setup(figure, path, figure.dpi)  # texts fit at their own size alone
        writer.fig = figure
        writer.grab_frame()
    writer.finish()
