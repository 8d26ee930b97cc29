"""Inputs of commands: lines of text, or the files listed in a manifest."""

import os
from pathlib import Path

from keras_bahdanau.cli.console import warn
from keras_bahdanau.cli.warnings import lines_from
from keras_bahdanau.data.readers import check_no_records, has_records, read_records
from keras_bahdanau.data.readers.conventions import is_header, report_conventions
from keras_bahdanau.data.readers.lines import decode_lines
from keras_bahdanau.data.readers.manifest import read_manifest
from keras_bahdanau.data.readers.parallel_files import read_pairs
from keras_bahdanau.data.readers.table import Table, parse_columns, read_table
from keras_bahdanau.text.features import is_blank, require_token, tagged

_KINDS = {
    **dict.fromkeys((".wav", ".flac"), "speech"),
    **dict.fromkeys((".png", ".jpg", ".jpeg"), "image"),
}
HEAD = 10_000  # number of pairs to look at when checking whether the first one is a header


def decoded(text, name):
    """Decode an argument as a single line; None stays None.

    Raises ValueError for control characters or invalid UTF-8.
    """
    return None if text is None else " ".join(decode_lines(os.fsencode(text), name))


def read_examples(
    inputs,
    source,
    target=None,
    columns=None,
    answer_separator=None,
    say=warn,
    tag=None,
):
    """Read a `Table` of pairs (string or `Path`, string) for training or evaluation.

    `inputs` is the form of the inputs. `source` is a text file, a TSV or a manifest. `columns`
    names the columns of a TSV, or is None to infer them (see `read_table`); for JSON lines or TMX
    it names the two sides (see `open_corpus`). `answer_separator` separates several answers in one
    cell. `tag` is put before each source. `say` reports inferred columns.
    """
    tag = decoded(tag, "TAG")
    is_table = target is None and not has_records(source)
    _check_columns(inputs, target, columns, answer_separator, is_table)
    symbols = []
    if inputs == "lines" and target is not None:
        check_no_records(source, target)
        pairs = read_pairs(source, target)
        _report_tables(pairs, source, target, say=say)
    elif inputs == "lines":
        if is_table:
            pairs, symbols = read_table(source, columns, answer_separator, say=say)
        else:
            pairs = read_records(source, columns, say)
        _check_no_manifest(source, pairs)
    elif inputs == "files":
        _check_one_file(target)
        pairs = read_manifest(source)
    else:
        raise ValueError(
            "Commands read only lines of text or the files in a manifest. Received: a model that "
            f"reads {inputs}. Use the model from Python: `train`, `evaluate`, `Pipeline`."
        )
    if not any(has_content(example) and has_content(text) for example, text in pairs):
        raise ValueError(
            "At least one pair must have content on both sides. "
            f"Received: path={str(source)!r} with {len(pairs)} pairs, none of which does. "
            "Give a file with such pairs."
        )
    if tag is not None:
        pairs = [(tagged(tag, sentence), text) for sentence, text in pairs]
    return Table(pairs, symbols)


def read_held_out(model, arguments):
    """Read the pairs on which a command measures a model."""
    check_cache(arguments.cache, model.inputs)
    return read_examples(
        model.inputs,
        arguments.source,
        arguments.target,
        arguments.columns,
        arguments.answer_separator,
        tag=arguments.tag,
    )


def prepare_source(pipeline, arguments):
    """Check the tag in `arguments`, and make the pipeline's source use the cache."""
    if arguments.tag is not None:
        require_token(arguments.tag, pipeline.source)
    if arguments.cache is not None:
        pipeline.source = pipeline.source.cached(arguments.cache, say=warn)


def names_of(sources, by_line=True):
    """Return the names of inputs for warnings: the path of a file, or the line number of a text.

    Use `by_line=False` if one line can make several pairs: a text is then named by its beginning.
    """
    lines = lines_from(1)
    return [
        str(source)
        if isinstance(source, Path)
        else next(lines)
        if by_line
        else f"source {source!r:.40}"
        for source in sources
    ]


def check_cache(cache, inputs):
    """Raise an error unless a path can be used as the cache for decoded files."""
    if cache is not None and inputs != "files":
        raise ValueError(
            "A cache is only for decoded files, such as images and recordings. "
            f"Received: cache={str(cache)!r} with {inputs}. Omit it."
        )
    if cache is not None and cache.exists() and not cache.is_dir():
        raise FileExistsError(
            "A cache must be a new or existing directory. "
            f"Received: cache={str(cache)!r}, which is a file. Choose another path."
        )


def check_lines(count, name, path, pairs):
    """Raise ValueError unless a file's line count equals the number of pairs."""
    if count != len(pairs):
        raise ValueError(
            f"`{name}` must have one line for each pair. "
            f"Received: {name}={str(path)!r} with {count} lines for {len(pairs)} pairs."
        )


def has_content(source):
    """Return True for a file or for a text that is not blank."""
    return isinstance(source, Path) or not is_blank(source)


def _report_tables(pairs, *files, say):
    """Report a header, quotation marks as in CSV, and files that look like tables."""
    if is_header(["\t".join(pair) for pair in pairs[:HEAD]]):
        say(
            f"line 1 of {str(files[0])!r} and {str(files[1])!r} is read as a pair: "
            f"{pairs[0]!r:.80}. If it is a header, remove it"
        )
    for side, path in enumerate(files):
        report_conventions(path, [pair[side] for pair in pairs], say, tables=False)
        if {"\t" in pair[side] for pair in pairs if pair[side].strip()} == {True}:
            say(
                f"two files were given, {str(files[0])!r} and {str(files[1])!r}, so each line of "
                f"{str(path)!r} is read as one text, tabs included. If the tabs separate columns, "
                "give only that file"
            )


def _check_no_manifest(path, pairs):
    """Raise ValueError if the first source in a table is the path of an image or a recording."""
    example = pairs[0][0] if pairs else ""
    kind = _KINDS.get(os.path.splitext(example)[1].lower())
    if kind and os.path.isfile(os.path.join(os.path.dirname(path), example)):
        raise ValueError(
            "A text model reads text, but a manifest lists files. "
            f"Received: path={str(path)!r}, where the first source is the file {example!r}. "
            f"Give --source {kind}, or a model that reads files."
        )


def _check_columns(inputs, target, columns, answer_separator, is_table):
    settings = {"columns": columns, "answer_separator": answer_separator}
    for name, value in settings.items():
        is_read = is_table or name == "columns"
        files = "two files" if target is not None else "JSON lines or TMX"
        if value is not None and (inputs != "lines" or target is not None or not is_read):
            raise ValueError(
                f"`{name}` is only for a single TSV of texts. Received: {name}={value!r} with "
                f"{files if inputs == 'lines' else inputs}. Omit it."
            )
    if columns is not None and is_table:
        parse_columns(columns)


def _check_one_file(target):
    if target is not None:
        raise ValueError(
            "A manifest contains the texts in its second column. "
            f"Received: a second file, {str(target)!r}. Omit it."
        )
