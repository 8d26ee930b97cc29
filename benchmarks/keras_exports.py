"""Write a table of Keras models as LiteRT files.

    python benchmarks/keras_exports.py [PART...]

The table is written to `keras_exports.md` in this directory, or to `keras_exports.part.md` if a
PART is given. It contains the rows of `tests/support/keras_export_matrix.py` with names that
contain any PART, or all rows. For each, it tells whether Keras' own `model.export(format="litert")`
writes a file that the plain LiteRT runtime can run.
"""

import pathlib
import sys
import textwrap
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "support"))
TITLE = "# Keras models as LiteRT files"


def table(outcomes, rows):
    """Yield lines of Markdown: a summary, and the outcome of each row."""
    exported = [outcome for outcome in outcomes if outcome.exported]
    exact = [outcome for outcome in exported if "quantization" not in rows[outcome.row].settings]
    near = [outcome for outcome in exact if outcome.difference <= 1e-5]
    plain = [outcome for outcome in outcomes if outcome.plain_keras == "runs"]
    yield TITLE
    yield ""
    summary = (
        f"{len(exported)} of {len(outcomes)} rows ({len(exported) / len(outcomes):.0%}) become "
        f"files with only built-in operations; {len(near)} of {len(exact)} in float32 agree with "
        "Keras to within 1e-5 of the largest value of an output, or of 1. Keras' own "
        f'`model.export(format="litert")` writes {len(plain)} files that the plain LiteRT runtime '
        'can run. "Flex" means that the file needs TensorFlow\'s operations, which the plain '
        "runtime doesn't have. This table is written by `python benchmarks/keras_exports.py`."
    )
    yield from textwrap.wrap(summary, 100)
    yield ""
    yield "| model | difference | kB | Keras' own export |"
    yield "|---|--:|--:|---|"
    for outcome in outcomes:
        if outcome.exported:
            cells = [f"{outcome.difference:.1e}", f"{outcome.kilobytes:.0f}"]
        else:
            cells = [outcome.error.replace("|", "\\|"), ""]
        yield f"| {outcome.row} | {cells[0]} | {cells[1]} | {outcome.plain_keras} |"


def main(parts):
    """Export the rows, print a line of progress for each, and write the table."""
    warnings.simplefilter("ignore")
    import keras_export_matrix

    rows = {
        name: row
        for name, row in keras_export_matrix.all_rows().items()
        if not parts or any(part in name for part in parts)
    }
    if not rows:
        names = ", ".join(keras_export_matrix.all_rows())
        raise SystemExit(
            f"A part must occur in the name of a row. Received: {parts}. Rows: {names}"
        )
    outcomes = []
    for name, row in rows.items():
        outcomes.append(keras_export_matrix.try_row(name, row, plain=True))
        print(*outcomes[-1], sep=" | ", flush=True)
    path = HERE / ("keras_exports.md" if not parts else "keras_exports.part.md")
    path.write_text("\n".join(table(outcomes, rows)) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
