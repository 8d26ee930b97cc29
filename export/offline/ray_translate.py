"""Translate a corpus with Ray Data: reads parts, and writes parts with the same names.

    python ray_translate.py --model runs/en-de --out translated corpus/*.parquet
    python ray_translate.py --model runs/en-de --out translated --workers 2 corpus
    python ray_translate.py --model en-de.keras --out translated --address auto --workers 64 corpus

Each worker is a process with one model. Parts that are already in --out are skipped, so if you run
the command again, it translates the missing parts. It needs keras_bahdanau with the extra
`offline`.

Exit codes: 0 if everything is translated; 2 if the command line, the model or a part is wrong.
"""

import argparse
import contextlib
import hashlib
import itertools
import json
import logging
import math
import os
import sys
import time
from pathlib import Path

import numpy as np
import parts

from keras_bahdanau.files.integrity import Damage, parse_card, sha256_of
from keras_bahdanau.files.ownership import owned
from keras_bahdanau.files.whole_file import replacing
from keras_bahdanau.runners.offline import ADDED, BatchTranslator
from keras_bahdanau.settings.option import check_value, integer, number

HERE = Path(__file__).resolve().parent
CARD = "_translation.json"  # engines that read a directory ignore names that begin with "_"
PIECE = ("part", "begin", "end")
MOST_BLOCKS = 20_000  # maximum number of Ray tasks
LIMITS = {
    "workers": integer(1, 10_000),
    "cpus": number(0, 1024, "(]"),
    "piece_kib": integer(1, 2**16),
}


class PieceTranslator:
    """A worker that translates the rows in pieces of parts.

    Args:
        translator: `BatchTranslator`, which loads its model at the first piece.
    """

    def __init__(self, translator):
        self._translator = translator

    def __call__(self, pieces):
        """Yield a batch of rows for each piece; the rows contain the numbers of the piece."""
        column = self._translator.column
        for path, *piece in zip(*(pieces[name] for name in ("path", *PIECE)), strict=True):
            inputs = parts.part_of(str(path), column).inputs(*map(int, piece[1:]))
            found = self._translator.columns_of({column: inputs})
            numbers = (np.full(len(inputs), one, np.int64) for one in piece)
            yield dict(zip((*PIECE, *ADDED), (*numbers, *found.values()), strict=True))


def main(arguments=None):
    """Run the program, and return its exit code."""
    options = _parse(arguments)
    try:
        for name, check in LIMITS.items():
            check_value(name, getattr(options, name), check)
        return translate_corpus(options)
    except ModuleNotFoundError as error:
        message = (
            "The extra `offline` of keras_bahdanau must be installed. "
            f"Received: no module {error.name!r}. Run pip install -e '.[all,offline]'."
        )
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        if "Received: " not in str(error) and not isinstance(error, OSError):
            raise
        message = " ".join(str(error).split())
    print("error:", message, file=sys.stderr, flush=True)
    return 2


def _parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", type=Path, help=f"files {', '.join(parts.KINDS)}, or")
    parser.add_argument(
        "--model", required=True, help=".keras file, run, SavedModel or .tflite file"
    )
    parser.add_argument("--out", required=True, type=Path, help="directory for translated parts")
    parser.add_argument("--column", default="text", help="column with the inputs [%(default)s]")
    parser.add_argument("--prefix", default="", help="prefix for the names of new columns")
    parser.add_argument("--batch-size", type=int, default=64, help="rows per batch [%(default)s]")
    parser.add_argument("--search", default={}, type=_fields, help='such as {"beam_width": 1}')
    parser.add_argument("--workers", type=int, default=1, help="worker processes [%(default)s]")
    parser.add_argument("--cpus", type=float, default=1, help="cores per worker [%(default)s]")
    parser.add_argument("--piece-kib", type=int, default=256, help="KiB per task [%(default)s]")
    parser.add_argument("--address", help="address of a Ray cluster; auto for this machine's")
    return parser.parse_intermixed_args(arguments)


def _fields(text):
    """Parse search options, for argparse."""
    try:
        return dict(**json.loads(text))
    except (TypeError, ValueError):
        raise argparse.ArgumentTypeError("must be a JSON object") from None


def translate_corpus(options):
    """Translate the parts that are missing from `options.out`; return 0."""
    began, every = time.monotonic(), parts.find_parts(options.parts)
    translator = BatchTranslator(
        options.model, options.column, options.prefix, options.batch_size, **options.search
    )
    out = options.out.absolute()
    if inside := [str(path) for path in every if path.parent == out]:
        raise ValueError(
            f"`out` must not be the directory of a part. Received: {inside[0]!r} in "
            f"out={str(out)!r}. Choose another one."
        )
    out.mkdir(parents=True, exist_ok=True)
    with owned(out):
        _check_card(out / CARD, translator)
        missing = [path for path in every if not (out / path.name).exists()]
        print(f"{len(every):,} parts, {len(missing):,} to translate", flush=True)
        rows = bad = 0
        if missing:
            for name, count, of_them in _translated(missing, out, translator, options):
                rows, bad = rows + count, bad + of_them
                print(f"{name}: {count:,} rows, {of_them:,} without an input", flush=True)
        seconds = time.monotonic() - began
        print(f"{rows:,} rows in {seconds:.1f} s, {bad:,} without an input", flush=True)
    return 0


def _translated(paths, out, translator, options):
    """Write each part, and yield (its name, number of rows, number of rows without an input)."""
    plan = []
    for path in paths:
        part, status = parts.part_of(path, options.column), path.stat()
        part.check(translator.names)
        plan.append((path, [*part.spans(options.piece_kib * 2**10)], status))
    pieces = [
        {"path": str(path), "part": index, "begin": begin, "end": end}
        for index, (path, spans, _) in enumerate(plan)
        for begin, end in spans
    ]
    results = _by_piece(_batches(pieces, translator, options))
    for index, (path, spans, status) in enumerate(plan):
        target, rows, bad = out / path.name, 0, 0
        part = parts.part_of(path, options.column)
        with replacing(target, out / f".{path.name}.unfinished") as unfinished:
            with part.writing(unfinished, translator.names) as write:
                for span in spans:
                    found, triples = next(results, (None, []))
                    _check_piece(path, (index, *span), found, status)
                    write(*span, triples)
                    rows += len(triples)
                    bad += sum(np.isnan(score) for _, score, _ in triples)
        yield path.name, rows, bad


def _batches(pieces, translator, options):
    """Yield batches of rows from Ray, in the order of the pieces."""
    if not pieces:  # all parts are empty
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if not ray.is_initialized():
        alone = {"num_cpus": math.ceil(options.workers * options.cpus), "include_dashboard": False}
        # other machines get the module `parts` from this directory
        given = {"address": options.address, "runtime_env": {"working_dir": str(HERE)}}
        settings = {"log_to_driver": False, "logging_level": "warning"}
        with _current_directory(HERE):  # its processes import from it
            ray.init(**settings, **given if options.address else alone)
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # errors are also raised
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.raise_original_map_exception = True
    context.enable_progress_bars = False
    rows = ray.data.from_items(pieces, override_num_blocks=min(len(pieces), MOST_BLOCKS))
    results = rows.map_batches(
        PieceTranslator,
        fn_constructor_args=[translator],
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=options.workers),
        num_cpus=options.cpus,
    )
    try:
        yield from results.iter_batches(batch_size=None, batch_format="numpy")
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None


@contextlib.contextmanager
def _current_directory(path):
    """Change the current directory within the block, like `contextlib.chdir` in Python 3.11."""
    before = os.getcwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


def _by_piece(batches):
    """Yield ((part, begin, end), list of triples) for each piece, however its rows are batched."""
    rows = (
        row
        for batch in batches
        for row in zip(*(batch[name].tolist() for name in (*PIECE, *ADDED)), strict=True)
    )
    for piece, members in itertools.groupby(rows, lambda row: row[:3]):
        yield piece, [row[3:] for row in members]


def _check_piece(path, piece, found, status):
    """Raise ValueError unless the results belong to the piece and its file is unchanged."""
    now = path.stat()
    if found != piece or (now.st_size, now.st_mtime_ns) != (status.st_size, status.st_mtime_ns):
        raise ValueError(
            "A part must not change while it is translated. "
            f"Received: part={str(path)!r}, {found} instead of {piece}. Run it again."
        )


def _check_card(path, translator):
    """Check that the directory is for the same translation; write its card if there is none."""
    card = {
        "sha256": _fingerprint(translator.path),
        "column": translator.column,
        "names": list(translator.names),
        "search": translator.search,
    }
    if not path.exists():
        with replacing(path, path.with_name(f".{path.name}.unfinished")) as unfinished:
            unfinished.write_text(json.dumps(card, indent=1))
    try:
        before = parse_card(path.read_bytes())
    except Damage as error:
        raise ValueError(
            "The card of a translation must be unchanged. "
            f"Received: path={str(path)!r} ({error}). Choose another directory."
        ) from None
    if changed := [name for name in card if before.get(name) != card[name]]:
        raise ValueError(
            "All parts in a directory must be translated with the same model and search. "
            f"Received: out={str(path.parent)!r}, started with another {' and '.join(changed)}. "
            "Choose another directory."
        )


def _fingerprint(path):
    """Return the SHA-256 of a model's file, or of all files in its directory."""
    if path.is_file():
        with open(path, "rb") as file:
            return sha256_of(file)
    digest = hashlib.sha256()
    for one in sorted(one for one in path.rglob("*") if one.is_file()):
        with open(one, "rb") as file:
            digest.update(f"{one.relative_to(path)} {sha256_of(file)}\n".encode())
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
