"""A picture on disk: whole, and never in the place of another file."""

from keras_bahdanau.files.whole_file import new_file


def save_picture(figure, path):
    """Write a figure to a file that must not exist.

    Args:
        figure: `matplotlib.figure.Figure`.
        path: `Path` of the file, whose suffix is the format.

    Raises:
        FileExistsError: If the file exists. The picture is kept beside it.
        OSError: If the disk is full, or does not take the file for another reason.
    """
    with new_file(path) as draft:
        figure.savefig(draft)
