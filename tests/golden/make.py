"""Write the golden files: a translator as saved by a release, and its answers.

    python tests/golden/make.py 0.1.0

makes `tests/golden/0.1.0/`. The files of a release are never rewritten: later versions of the
package must load them and give the same answers.
"""

import json
import shutil
import sys
from pathlib import Path

import keras

import keras_bahdanau as kb

SENTENCES = ["one two", "three", "two one three", ""]
NUMBERS = {"one": "eins", "two": "zwei", "three": "drei"}


def main(version):
    folder = Path(__file__).parent / version
    folder.mkdir()
    keras.utils.set_random_seed(0)
    sources = [f"{a} {b} {c}" for a in NUMBERS for b in NUMBERS for c in NUMBERS]
    pairs = [(text, " ".join(NUMBERS[word] for word in text.split())) for text in sources]
    source, target = kb.text.Subwords.train_pair(
        pairs, vocabulary_size=28, joint=False, normalization="identity", exact=False
    )
    model = kb.presets.small(
        source, target, embedding_units=8, units=16, attention_units=8, dropout=0.0
    )
    model.compile(keras.optimizers.Adam(2e-2), kb.losses.TokenCrossentropy())
    data = kb.data.batches(pairs, source, target, batch_tokens=256, buckets=1)
    model.fit(data, epochs=40, verbose=0, shuffle=False)
    search = kb.SearchOptions(beam_width=2, max_length=16)
    translator = kb.Translator(source, model, target, search)
    translator.save(folder / "translator.keras")
    kb.export_saved_model(translator, folder / "saved_model", SENTENCES)
    shutil.make_archive(folder / "saved_model", "zip", folder / "saved_model")
    shutil.rmtree(folder / "saved_model")
    kb.export_litert(
        translator,
        folder / "translator.tflite",
        max_source_length=16,
        max_target_length=16,
        sentences=SENTENCES,
    )
    answers = [
        {
            "sentence": sentence,
            "text": result.text,
            "score": result.score,
            "source_tokens": result.source_tokens,
            "target_tokens": result.target_tokens,
            "alignment": result.alignment.round(6).tolist(),
        }
        for sentence, result in zip(SENTENCES, translator.translate(SENTENCES), strict=True)
    ]
    content = json.dumps(answers, ensure_ascii=False, indent=1)
    (folder / "answers.json").write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
