"""Write the conformance file: texts, ids, hypotheses and scores that every runtime must return.

    python tests/support/conformance_file.py --encodings 30000 --model en-de.tflite --out all.json

The file is a JSON object. `vocabularies` lists SentencePiece models of every kind (`name`, and
`model` in base64) with `encodings`, each a `text` (or `bytes` in base64, if it isn't valid UTF-8)
with its `ids`, and `decodings`, each a list of `ids` with its `text`. Given a model, `answers`
contains `model` (its file name), `verb` and `inputs`. Each input is a `text` with the `ids` of its
source, including the end token, and, for each search (`best`, `greedy`, `nbest`), its `hypotheses`,
best first, with the keys of JSON output: `text`, `score`, `confidence`, `finished`, `tokens`, and,
for each token, `token_log_probs`, `token_entropies` and `token_words`, which are null if an older
model lacks them. A text that is too long for the model has `ids` but no hypotheses. The Python
packages sentencepiece and LiteRT compute all values.
"""

import argparse
import base64
import io
import json
import random
from pathlib import Path

import numpy as np
import sentencepiece

from keras_bahdanau.exporters import OnDeviceTranslator
from keras_bahdanau.text import Subwords
from keras_bahdanau.text.vocabulary import drop_composition

CORPUS = """
A man in an orange hat starts at something . Two young white males are outside near many bushes
Ein Mann mit einem orangefarbenen Hut , der etwas anstarrt . Straße Übermäßig große Füße äöüß
L’élève français naïf a reçu une œuvre ﬁnale ﬂuide , déjà là-bas . Ça coûte 12½ € ± 3²
Быстрая коричневая лиса прыгает через ленивую собаку . Съешь ещё этих мягких французских булок
मैं घर जा रहा हूँ । हिन्दी क्षत्रिय ज्ञान श्री कृष्ण
ฉันกินข้าวที่บ้าน น้ำ ผู้ใหญ่ กำลัง
我喜欢在北京吃饭 。 日本語のテキスト カタカナ ｶﾀｶﾅ ＡＢＣ　１２３ 한국어 문장 입니다
مرحبا بالعالم السلام عليكم ﷺ ﻼ שלום עולם
👍🏽 👩‍👩‍👧 🇩🇪 ☃ ♥️ … — “quoted” ‘single’ №5 ™ ﬀ Ǆ ẞ ı İ é ñ Å Å
V;PST walk N;PL child K AE1 T S IH0 L AH0 B AH0 L 2021-03-05 15:30 1,000.5 %
""".split("\n")[1:-1]
SPACES = " \u00a0\u3000\u2003\t\u200b\u2028\r\n\u0085\ufeff\u00ad"
SYMBOLS = ("<2de>", "<2d", "V;PST", "☃☃")
ODD = ["\u2581", "\u2581\u2581", "\ufffd", "\x00", "\x07", "\u0301", "\u200d", "<s>", "<unk>"]
ODD += ["</s>", "<0x41>", "<pad>", "\U0010ffff", "\ufb03", "\u1e9b\u0323", "\u2581<2de>", "\ue000"]
OF_TOKENS = ("token_log_probs", "token_entropies", "token_words")
ROUNDED = ("score", "confidence", "token_log_probs", "token_entropies")
OWN = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, "minloglevel": 3}


def vocabularies():
    """Return a dictionary from name to SentencePiece model (bytes), with a model of each kind."""
    lines = [line for line in CORPUS for _ in range(2)]
    small = {"vocabulary_size": 400, "exact": False}
    models = {}
    for kind in ("bpe", "unigram", "char", "word", "grapheme"):
        for normalization in ("nmt_nfkc", "nfkc_cf", "identity", "none"):
            for symbols in ((), SYMBOLS):
                name = f"{kind}, {normalization}, {len(symbols)} symbols"
                settings = {"model_type": kind, "normalization": normalization, "symbols": symbols}
                models[name] = Subwords.train(lines, **small, **settings).model
    for kind in ("bpe", "unigram", "char", "grapheme", "word"):  # decoding composes syllables
        settings = {"model_type": kind, "normalization": "nfd"}
        models[f"{kind}, nfd"] = Subwords.train(lines, **small, **settings).model
    models["char, nfd, of a source"] = drop_composition(models["char, nfd"])
    pairs = list(zip(CORPUS[:5], CORPUS[5:], strict=True))
    for joint in (True, False):
        pair = Subwords.train_pair(pairs, 250, joint=joint, exact=False)
        models |= {f"side {side}, joint {joint}": one.model for side, one in enumerate(pair)}
    for kind in ("bpe", "unigram"):
        settings = {"model_type": kind, "vocab_size": 660, "hard_vocab_limit": False}
        settings |= {"byte_fallback": True, "character_coverage": 0.98}
        models[f"{kind}, bytes"] = trained(lines, **settings)
    return models


def trained(lines, **settings):
    """Train a SentencePiece model with settings that `Subwords.train` doesn't offer."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, **OWN, **settings
    )
    return model.getvalue()


def texts(count, seed=0):
    """Return `count` random texts of words, odd characters and all kinds of spaces.

    Most are strings; a few are bytes that aren't valid UTF-8.
    """
    draw = random.Random(seed)
    words = [word for line in CORPUS for word in line.split()] + [*SYMBOLS]
    found = ["", " ", "\u2581", " a", "a ", "  a  b  "]
    while len(found) < count:
        parts = []
        for _ in range(draw.choice((0, 1, 1, 2, 3, 5, 9, 14))):
            parts.append(draw.choice(words))
            if draw.random() < 0.3:
                parts[-1] = "".join(draw.sample(parts[-1], len(parts[-1])))
            if draw.random() < 0.15:
                parts.append(draw.choice(ODD))
            if draw.random() < 0.1:
                first = draw.choice((0x250, 0x900, 0x3000, 0x1F300))
                parts.append(chr(first + draw.randrange(250)))
            parts.append(draw.choice(("", " ", " ", " ", " ", "  ", draw.choice(SPACES))))
        text = "".join(parts)
        if draw.random() < 0.03:
            content = bytearray(text.encode() + b"\xc3 \xe2\x96")
            content[draw.randrange(len(content))] = draw.randrange(128, 256)
            found.append(bytes(content))
        else:
            found.append(text)
    return found[:count]


def conformance_of(model, inputs, draw):
    """Return sentencepiece's encodings of the inputs, and as many decodings of random ids."""
    library = sentencepiece.SentencePieceProcessor(model_proto=model)
    encodings = [
        {**_as_json(one), "ids": ids}
        for one, ids in zip(inputs, library.encode(inputs), strict=True)
    ]
    size = library.vocab_size()
    rows = [found["ids"][draw.randrange(2) :] for found in encodings[::2]]
    rows += [[draw.randrange(size) for _ in range(draw.randrange(9))] for _ in encodings[1::2]]
    decodings = [{"ids": row, "text": library.decode(row)} for row in rows]
    return {"encodings": encodings, "decodings": decodings}


def _as_json(text):
    if isinstance(text, bytes):
        return {"bytes": base64.b64encode(text).decode()}
    return {"text": text}


def answers_of(path, inputs):
    """Return `answers` for a .tflite file: results of each search that it has a signature for."""
    best = OnDeviceTranslator(path)
    searches = {"best": lambda text: best.translate([text])}
    try:
        greedy = OnDeviceTranslator(path, greedy=True)
    except ValueError:
        pass  # the file has no greedy signature
    else:
        searches["greedy"] = lambda text: greedy.translate([text])
    if best.most > 1:
        searches["nbest"] = lambda text: best.translate_nbest([text])[0]
    vocabulary, rows = best.vocabulary("source"), []
    for text in inputs:
        ids = vocabulary.encode(text)
        row = {"text": text, "ids": [*ids, 3] if ids else []}
        if len(row["ids"]) <= best.card["max_source_length"]:
            for name, search in searches.items():
                row[name] = {"hypotheses": [*map(fields_of, search(text))]}
        rows.append(row)
    return {"model": Path(path).name, "verb": best.card["verb"], "inputs": rows}


def fields_of(one):
    """Return the fields of an `OnDeviceTranslation` as in JSON output."""
    rows = {name: getattr(one, name) for name in OF_TOKENS}
    return {
        "text": one.text,
        "score": one.score,
        "confidence": one.confidence,
        "finished": one.finished,
        "tokens": one.target_tokens,
        **{name: row if row is None else row.tolist() for name, row in rows.items()},
    }


def assert_alike(found, expected, atol=1e-5):
    """Assert that hypotheses have the same keys in order, and the same values up to rounding."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert [*one] == [*other]
        for name, value in other.items():
            if name in ROUNDED and value is not None:
                np.testing.assert_allclose(one[name], value, rtol=0, atol=atol, err_msg=name)
            else:
                assert one[name] == value, name


def conformance(encodings, path=None, inputs=(), seed=0):
    """Return the JSON object: `encodings` encodings in total, and a model's answers to `inputs`."""
    models, draw = vocabularies(), random.Random(seed)
    each = -(-encodings // len(models))
    whole = {
        "vocabularies": [
            {"name": name, "model": base64.b64encode(model).decode()}
            | conformance_of(model, texts(each, seed=f"{seed} {name}"), draw)
            for name, model in models.items()
        ]
    }
    return whole if path is None else {**whole, "answers": answers_of(path, inputs)}


def write(path, *arguments, **settings):
    """Write the conformance file to `path`."""
    content = json.dumps(conformance(*arguments, **settings), ensure_ascii=False)
    Path(path).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encodings", type=int, default=2000)
    parser.add_argument("--model", type=Path, help="a .tflite file for text")
    parser.add_argument("--sentences", type=Path, help="its inputs, a line each")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    lines = options.sentences.read_text("utf-8").splitlines() if options.sentences else CORPUS
    write(options.out, options.encodings, options.model, lines)
