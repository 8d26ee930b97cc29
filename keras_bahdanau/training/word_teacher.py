"""The teacher of a training by word-level distillation: its files, and its model."""

from keras_bahdanau.pipelines.file import find_translator


def teacher_files(teacher):
    """Tuple of the files of a teacher.

    Args:
        teacher: Path of a `.keras` file or of a run, a list of several, or None.

    Raises:
        FileNotFoundError: If there is no such model.
    """
    several = teacher if isinstance(teacher, list | tuple) else [teacher]
    return tuple(find_translator(path) for path in several if path is not None)


def word_distillation(files, sides, options):
    """The `WordDistillation` of a training, with the teacher in the precision of the student.

    Args:
        files: Tuple of the paths of the teacher; of several the ensemble.
        sides: (`Source`, `Subwords`) of the student.
        options: `TrainingOptions`, resolved.

    Raises:
        ValueError: If the teacher has another source or target, needs alignments, or is damaged.
    """
    from keras_bahdanau.models.word_distillation import WordDistillation
    from keras_bahdanau.pipelines.by_source import load_pipeline
    from keras_bahdanau.pipelines.ensembling import ensemble

    pipelines = [load_pipeline(path, options.precision) for path in files]
    for path, one in zip(files, pipelines, strict=True):
        if (one.source, one.target) != tuple(sides):
            raise ValueError(
                "The teacher of a word-level distillation has the student's source and target. "
                f"Received: teacher={str(path)!r}, which has others. Train both on the same "
                "pairs with the same vocabulary settings, begin with a model that has the "
                "teacher's (--from), or distill with vocabulary='teacher'."
            )
        if not one.model.exportable:
            raise ValueError(
                "A teacher reads nothing but the source and the tokens. Received: "
                f"teacher={str(path)!r}, whose attention is that of given alignments. Give "
                "another one."
            )
    whole = pipelines[0] if len(pipelines) == 1 else ensemble(pipelines)
    return WordDistillation(whole.model, options.word_distillation)
