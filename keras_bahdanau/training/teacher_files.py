"""Checks of the files of a teacher, and their fingerprints, by which a run resumes."""

from keras_bahdanau.files.integrity import sha256_of


def teacher_prints(files):
    """List of the SHA-256 of the files of a teacher, which a run resumes with."""
    return [_sha256(path) for path in files]


def check_teacher(options, files):
    """Raise ValueError unless a training has a teacher and a share for it, or neither.

    Args:
        options: `TrainingOptions`, resolved.
        files: Tuple of paths.
    """
    if bool(files) != (options.word_distillation > 0):
        raise ValueError(
            "Word-level distillation takes a teacher, and its share of the loss. Received: "
            f"teacher={[*map(str, files)]}, word_distillation={options.word_distillation!r}. Give "
            "both, such as 0.8 for the share, or neither."
        )


def _sha256(path):
    with open(path, "rb") as file:
        return sha256_of(file)
