"""Score Multi30K translations: by the rule of published papers, or with sacreBLEU on raw text.

    python experiments/multi30k/scoring.py REFERENCES HYPOTHESES --text tok

The rule: train on the official lowercased, normalized and tokenized files, join subwords, don't
detokenize, and score as `sacrebleu --tokenize none --force -lc` does.
"""

import argparse
import json
from pathlib import Path

from sacrebleu.metrics import BLEU, CHRF

from keras_bahdanau.data import read_lines

SETTINGS = {  # also arguments of `kb.evaluation.evaluate`
    "tok": {"tokenize": "none", "lowercase": True},
    "raw": {"tokenize": None, "lowercase": False},  # 13a, cased
}
RULES_TOKENS = {"de": 12103, "fr": 13988}  # tokens in the references of test_2016_flickr


def score(hypotheses, references, text):
    """Return BLEU and chrF with their signatures, and both sides' tokens as counted by BLEU.

    Args:
        hypotheses: List of strings.
        references: List of strings.
        text: "tok" to score by the rule, or "raw".

    Raises:
        ValueError: If the numbers of hypotheses and references differ.
    """
    if len(hypotheses) != len(references):
        raise ValueError(
            "There must be one hypothesis for each reference. "
            f"Received: {len(hypotheses)} hypotheses, {len(references)} references."
        )
    settings = SETTINGS[text]
    bleu, chrf = BLEU(force=True, **settings), CHRF(lowercase=settings["lowercase"])
    found = bleu.corpus_score(hypotheses, [references])
    return {
        "bleu": found.score,
        "bleu_signature": str(bleu.get_signature()),
        "hypotheses_tokens": found.sys_len,
        "references_tokens": found.ref_len,
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
        "chrf_signature": str(chrf.get_signature()),
    }


def check_references(references, language):
    """Raise ValueError unless these are the references that the rule uses.

    Args:
        references: List of strings. Those of test_2016_flickr in `tok`.
        language: "de" or "fr".
    """
    found = score(references, references, "tok")["references_tokens"]
    if found != RULES_TOKENS[language]:
        raise ValueError(
            f"The tokenized references of test_2016_flickr.{language} have "
            f"{RULES_TOKENS[language]} tokens. Received: {found}. Use the files of task 1, `tok`."
        )


def check_not_scored(directory):
    """Raise SystemExit if one of these scripts has already decoded the test with this model."""
    for name in ("scores.json", "confidence.json"):
        if (directory / name).exists():
            raise SystemExit(f"{directory / name} exists: the test is decoded once per system.")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("references", type=Path)
    parser.add_argument("hypotheses", type=Path)
    parser.add_argument(
        "--text", choices=SETTINGS, default="tok", help="kind of text that was translated"
    )
    arguments = parser.parse_args(arguments)
    lines = read_lines(arguments.hypotheses), read_lines(arguments.references)
    try:
        print(json.dumps(score(*lines, arguments.text), indent=1))
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
