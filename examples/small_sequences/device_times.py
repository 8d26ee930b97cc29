"""Time of a published file for a word: LiteRT, one thread, one word of dev after the other."""

import statistics
import time

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnDeviceTranslator
from keras_bahdanau.text.feature_place import place_in_card

WORDS = 200  # of dev, evenly spread
ROUNDS = 3  # of which the shortest counts
SUGGESTIONS = 5


def measured(task, path, data):
    """Median times in milliseconds.

    Args:
        task: `Task`.
        path: Path of its .tflite file.
        data: Path of the directory that has the data.

    Returns:
        Dictionary: "beam" is the best answer of the file's own search, and where there are
        signatures for them "greedy" the best one without a search, "suggestions" the best five.
    """
    translator = OnDeviceTranslator(path)
    pairs = _pairs(task, data, place_in_card(translator.card))
    words = [*dict.fromkeys(source for source, _ in pairs)]
    words = words[:: max(1, len(words) // WORDS)][:WORDS]
    ways = {"beam": translator.translate}
    if translator.most >= SUGGESTIONS:
        ways["suggestions"] = lambda one: translator.translate_nbest(one, SUGGESTIONS)
    try:
        ways["greedy"] = OnDeviceTranslator(path, greedy=True).translate
    except ValueError:  # a file without the signature
        pass
    return {name: round(_median(way, words), 3) for name, way in ways.items()}


def _pairs(task, data, place):
    return kb.data.read_table(data / task.dev, task.columns, feature_place=place).pairs


def _median(way, words):
    """The median over the words of the shortest of some rounds, in milliseconds."""
    way(words[:1])  # memory is allocated by the first call
    return 1e3 * statistics.median(
        min(_seconds(way, word) for _ in range(ROUNDS)) for word in words
    )


def _seconds(way, word):
    start = time.perf_counter()
    way([word])
    return time.perf_counter() - start
