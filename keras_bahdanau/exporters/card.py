"""Cards: JSON files that describe artefacts."""

import dataclasses
import hashlib

from keras_bahdanau import __version__
from keras_bahdanau.exporters.parity import Parity, table
from keras_bahdanau.files.integrity import Damage, check_fields, opened, parse_card
from keras_bahdanau.files.whole_file import open_regular

CARD = "card.json"
TARGET = "target.spm"
_FORMS = {
    **dict.fromkeys(("format", "keras", "keras_bahdanau", "tensorflow", "verb"), str),
    **dict.fromkeys(("min_runtime_version", "precision", "quantization"), str),
    **dict.fromkeys(("max_rows", "max_source_length", "max_source_bytes"), int),
    **dict.fromkeys(("max_target_length", "max_batch_bytes", "max_batch_operations"), int),
    **dict.fromkeys(("max_image_bytes", "max_image_pixels"), int),
    **dict.fromkeys(("sha256", "vocabularies", "vocabulary_sha256"), {str: str}),
    "calibration": dict,
    "labels": [str],
    "model": str,
    "states": [str],
    "tensors": {str: {str: {str: str}}},
    "feature_place": str,
    "inputs": str,
    "metrics": [str],
    "missing_values": bool,
    "quantization_aware": bool,
    "parity": [dict],
    "reduction": int,
    "search": dict,
    "signatures": {str: [str]},
    "source": dict,
    "trained_for": str,
    "training": dict,
}


def card_of(pipeline):
    """Return the fields common to the cards of all formats: versions, search, source and more.

    `reduction` is the number of source positions for each column of an alignment. `precision` is
    the dtype of weights and products, if it is not float32. `source` contains the settings of a
    source without assets, so that a host can compute the same features.
    """
    import keras  # reading a card does not need it
    import tensorflow as tf

    from keras_bahdanau.models.precision import precision_of

    files, vocabularies = vocabulary_files(pipeline)
    return {
        "keras_bahdanau": __version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "search": dataclasses.asdict(pipeline.search),
        "verb": pipeline.verb,
        "inputs": pipeline.source.inputs_are,
        **pipeline.source.card,
        "metrics": list(pipeline.metrics),
        "reduction": pipeline.model.source_limits.reduction,
        "vocabularies": vocabularies,
        "vocabulary_sha256": {
            side: sha256(files[file_name]) for side, file_name in vocabularies.items()
        },
        **_described(pipeline.source),
        **_calibrated(pipeline.calibration),
        **_trained(pipeline.training),
        **_computed(precision_of(pipeline.model)),
    }


def _described(source):
    """Return the settings of a source, unless its assets contain them."""
    import keras

    return {} if source.assets else {"source": keras.saving.serialize_keras_object(source)}


def _calibrated(calibration):
    """Return the coefficients for the confidence of words and texts, if there are any."""
    return {} if calibration is None else {"calibration": dataclasses.asdict(calibration)}


def _computed(precision):
    """Return the precision of weights and products, unless it is float32."""
    return {} if precision == "float32" else {"precision": precision}


def _trained(options):
    """Return the fields of a card that depend on the training options."""
    if not options or not options.get("quantization_aware"):
        return {}
    export = options.get("quantization", "int8")
    return {"quantization_aware": True, **({} if export == "int8" else {"trained_for": export})}


def read_card(content):
    """Parse a card to a dictionary. Raises `Damage` unless its fields have the right types."""
    card = parse_card(content)
    check_fields(card, {name: form for name, form in _FORMS.items() if name in card})
    return card


def read_packed_card(path):
    """Read only the card of a .tflite file. Raises ValueError if the file contains none."""
    try:
        with open_regular(path) as file, opened(file) as archive:
            if CARD not in archive.namelist():
                raise Damage(f"it has no {CARD}")
            return read_card(archive.read(CARD))
    except Damage as error:
        raise ValueError(
            "A .tflite file must contain its card and vocabularies, as exported. Received: "
            f"path={str(path)!r} ({error}). Copy the file again, or export the model again."
        ) from None


def vocabulary_files(pipeline):
    """Return (files, vocabularies), dictionaries: file name -> bytes, and side -> file name.

    Equal vocabularies share one file.
    """
    files = dict(pipeline.source.assets)
    vocabularies = {name.partition(".")[0]: name for name in files}
    equal = [name for name, content in files.items() if content == pipeline.target.model]
    vocabularies["target"] = equal[0] if equal else TARGET
    return {vocabularies["target"]: pipeline.target.model, **files}, vocabularies


def sha256(content):
    """Return the SHA-256 of bytes in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def table_of(rows):
    """Convert a list of `Parity` to dictionaries for JSON."""
    return [dataclasses.asdict(row) for row in rows]


def describe_search(card):
    """Return a line of text with the search options in a card."""
    return "search: " + ", ".join(f"{name} {value}" for name, value in card["search"].items())


def describe_source(card):
    """Return a list with one line about the source; empty if the card does not describe it."""
    if "source" not in card:
        return []
    settings = card["source"].get("config")
    settings = settings if isinstance(settings, dict) else {}
    described = ", ".join(f"{name} {value}" for name, value in settings.items())
    return [f"source: {card['source'].get('class_name')}, {described}"]


def describe_parity(card):
    """Return the parity table of a card as text. Raises `Damage` if its rows are invalid."""
    names = {field.name for field in dataclasses.fields(Parity)}
    try:
        rows = [
            Parity(**{name: value for name, value in row.items() if name in names})
            for row in card["parity"]
        ]
        return table(rows) if rows else "not compared with Keras"
    except (AttributeError, OverflowError, TypeError, ValueError):
        raise Damage("its 'parity' is not a table that an export writes") from None
