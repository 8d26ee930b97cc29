"""Says before deployment what a server or a phone would say at run time."""

from pathlib import Path

from keras_bahdanau.exporters.findings import Finding

__all__ = ["Finding", "check", "require_clean"]


def check(path):
    """Looks for what the runtimes of an artefact would refuse, without running it.

    ```python
    for finding in check("models/en-de"):
        print(finding)
    ```

    Args:
        path: Path of a SavedModel (the directory of one version, or the
            directory of its versions, of which the newest is taken), or of a
            LiteRT file.

    Returns:
        List of `Finding`, empty if nothing is wrong.

    Raises:
        FileNotFoundError: If there is no such file or directory.
        ImportError: If a LiteRT file is given and `ai-edge-litert` is not installed.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            "An artefact to check must exist. "
            f"Received: path={str(path)!r}. Export a translator first."
        )
    # loaded here, since each of the two needs a large package that the other does not
    if path.is_dir():
        from keras_bahdanau.exporters.saved_model_check import check_saved_model

        return check_saved_model(path)
    from keras_bahdanau.exporters.litert_check import check_litert

    return check_litert(path)


def require_clean(path):
    """Raises ValueError if `check` finds anything.

    Args:
        path: Path of a SavedModel's version, or of a LiteRT file.
    """
    findings = check(path)
    if findings:
        raise ValueError(
            "An artefact must hold nothing that its runtime refuses. Received: "
            + "; ".join(str(finding) for finding in findings)
        )
