"""Texts of low confidence, which are left out, and lines of JSON that say how sure a model was."""

import json

from keras_bahdanau.cli.console import warn
from keras_bahdanau.settings.option import check_value, number


class Rejection:
    """The option `--reject-below`, over all texts of a command.

    Args:
        below: Float from 0 to 1, or None to leave every text as it is.

    Attributes:
        rejected: Integer, how many texts were rejected.
        seen: Integer, of how many.

    Raises:
        ValueError: If `below` is out of range.
    """

    def __init__(self, below):
        if below is not None:
            check_value("reject_below", below, number(0, 1))
        self.below = below
        self.rejected = self.seen = 0

    def check_calibration(self, pipeline, search, models=1):
        """Say on standard error where the calibration was fitted to something else.

        Args:
            pipeline: `Pipeline`, or that of a .tflite file.
            search: `SearchOptions` in place of its own, or None.
            models: Integer, the number of models that it is made of.
        """
        if self.below is None:
            return
        if models > 1:
            warn("an ensemble is not calibrated: its confidences are mean probabilities of tokens")
        elif search is None or pipeline.calibration is None:  # .tflite files have their search
            return
        elif search != pipeline.search:
            warn("confidences were calibrated with other search options: they may be off")

    def __call__(self, results):
        """The lists of `Translation`, where those of low confidence are empty."""
        if self.below is None:
            return results
        results = [[one.reject_below(self.below) for one in row] for row in results]
        self.seen += sum(map(len, results))
        self.rejected += sum(one.rejected for row in results for one in row)
        return results

    def tell(self):
        """Say on standard error how many texts were rejected."""
        if self.below is not None:
            warn(
                f"{self.rejected:,} of {self.seen:,} texts are left out, of a confidence below "
                f"{self.below:g}"
            )


def json_line(translation, number=None, path=None):
    """A `Translation` as one line of JSON.

    Args:
        translation: `Translation`.
        number: Integer, the place of its input, counted from 0; None to leave it out.
        path: String, the path of its input, likewise.
    """
    fields = {} if number is None else {"number": number}
    if path is not None:
        fields["path"] = path
    fields |= {
        "text": translation.text,
        "score": _rounded(translation.score),
        "confidence": _rounded(translation.confidence),
        "rejected": translation.rejected,
        "tokens": translation.target_tokens,
        "token_log_probs": _numbers(translation.token_log_probs),
        "token_entropies": _numbers(translation.token_entropies),
        "words": [
            {
                **word._asdict(),
                "log_prob": _rounded(word.log_prob),
                "confidence": _rounded(word.confidence),
            }
            for word in translation.words
        ],
    }
    return json.dumps(fields, ensure_ascii=False)


def _numbers(array):
    return None if array is None else [_rounded(number) for number in array.tolist()]


def _rounded(number):
    """Six digits are what a float32 is sure of; JSON has no more use for others."""
    return None if number is None else round(number, 6)
