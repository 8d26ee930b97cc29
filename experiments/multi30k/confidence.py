r"""Measure how reliable a Multi30K model's confidence is: fitted on val, measured on the test.

    python experiments/multi30k/confidence.py --data multi30k --language de --out runs/de-1

--out is the output directory of `train.py --no-test`, with search options chosen on `val`. The
calibration is added to `translator.keras`. The test, test_2016_flickr, is decoded once.
`confidence.json` contains its BLEU, and the area under the ROC curve for correct texts (chrF >= 40)
and the expected calibration error, both for the calibrated confidence and for the raw confidence,
which is the geometric mean of the token probabilities.
"""

import argparse
from pathlib import Path

import numpy as np
import scoring

import keras_bahdanau as kb
from keras_bahdanau.evaluation.confidence_quality import calibration_error, reliability, roc_auc
from keras_bahdanau.files.whole_file import write_json, write_text

DRAWS = 1000  # in the bootstrap


def main(arguments=None):
    arguments = parsed(arguments)
    path, result = arguments.out / "translator.keras", arguments.out / "confidence.json"
    scoring.check_not_scored(arguments.out)
    translator = kb.Translator.load(path)
    found = kb.evaluation.calibrate(
        translator, read(arguments, "val"), metric="chrf", threshold=arguments.threshold
    )
    translator.calibration = found.calibration
    translator.save(path)
    test = read(arguments, "test_2016_flickr")
    references = [target for _, target in test]
    translations = translator.translate([source for source, _ in test])
    hypotheses = [one.text for one in translations]
    (chrf,) = kb.evaluation.metrics_of(["chrf"])
    texts = zip(hypotheses, references, strict=True)
    least = arguments.threshold
    right = np.array([chrf.corpus_score([one], [other]) >= least for one, other in texts])
    kinds = {
        "raw": np.exp([np.mean(one.token_log_probs) for one in translations]),
        "calibrated": np.array([one.confidence for one in translations]),
    }
    figures = {name: measured(right, values) for name, values in kinds.items()}
    scores = scoring.score(hypotheses, references, arguments.text)
    write_text(arguments.out / "hypotheses.txt", "".join(f"{one}\n" for one in hypotheses))
    curves = {name: reliability(right, values) for name, values in kinds.items()}
    kb.plotting.plot_reliability(curves).savefig(arguments.out / "reliability.png")
    write_json(result, {"right": int(right.sum()), "texts": len(right), **figures, "test": scores})
    print(f"{right.sum()} of {len(right)} texts have chrF >= {least:g}; BLEU {scores['bleu']:.2f}")
    for name, one in figures.items():
        print(name, *(f"{key} {value:.3f}" for key, value in one.items() if np.isscalar(value)))


def read(arguments, part):
    place = arguments.data / arguments.text
    return kb.data.read_pairs(
        *(place / f"{part}.{language}.gz" for language in ("en", arguments.language))
    )


def measured(right, values):
    """Return the two figures, each with its 95% interval from a bootstrap over the texts."""
    random = np.random.default_rng(0)
    draws = [random.integers(len(right), size=len(right)) for _ in range(DRAWS)]
    figures = {}
    for name, figure in {"auc": roc_auc, "ece": calibration_error}.items():
        figures[name] = figure(right, values)
        of_draws = [figure(right[chosen], values[chosen]) for chosen in draws]
        figures[f"{name}_interval"] = np.percentile(of_draws, [2.5, 97.5]).tolist()
    return figures


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--language", choices=("de", "fr"), default="de")
    parser.add_argument("--text", choices=tuple(scoring.SETTINGS), default="tok")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    right = "minimum chrF of a correct text, in percent (%(default)g)"
    parser.add_argument("--threshold", type=float, default=40.0, help=right)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
