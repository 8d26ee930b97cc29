"""The directory of a demo: a new one, or one that it left unfinished."""

MARK = ".demo"  # a file in it


def check_directory(out):
    """Raise FileExistsError if a directory is there that no demo has made, or a finished one.

    Args:
        out: `Path`.
    """
    if (out / "report.json").exists():
        raise FileExistsError(
            f"This demo is done already. Received: out={str(out)!r}. "
            "Remove the directory, or choose another one with --out."
        )
    if out.is_dir() and any(out.iterdir()):
        if not (out / MARK).exists() and not (out / "run" / "run.json").exists():
            raise FileExistsError(
                "A demo takes a directory of its own, or one that it left unfinished. "
                f"Received: out={str(out)!r}, which holds other files. Choose another one with "
                "--out."
            )


def begin(out):
    """Check a directory, make it, and mark it."""
    check_directory(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).touch()
