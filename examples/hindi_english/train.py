"""Hindi to English, from a file of sentence pairs to an alignment in Devanagari.

    python examples/hindi_english/train.py --data hin.txt --out hindi

The data: English-Hindi pairs of Tatoeba as a text file with tabs, English first, such as
the site ManyThings.org offers in its "Tab-delimited Bilingual Sentence Pairs" ("Hindi -
English"). The third column, who wrote what, is not used.
"""

import argparse
import collections
import json
import random
import unicodedata
from pathlib import Path

import keras_bahdanau as kb
from keras_bahdanau.training import Run, TrainingOptions, train

# written for this example, with what they mean: none of them comes from the data
SENTENCES = [
    ("मेरी बहन रोज़ अख़बार पढ़ती है।", "My sister reads the newspaper every day."),
    ("यह किताब बहुत पुरानी है।", "This book is very old."),
    ("वे लोग कहाँ रहते हैं?", "Where do those people live?"),
    ("मैं कल अपने दोस्त से मिला।", "I met my friend yesterday."),
    ("वह रोज़ सुबह काम पर जाता है।", "He goes to work every morning."),
    ("क्या तुम्हारे पास समय है?", "Do you have time?"),
    ("मुझे अंग्रेज़ी बोलना पसंद है।", "I like to speak English."),
    ("उसने मुझे एक नई घड़ी दी।", "He gave me a new watch."),
    ("कमरे में कोई नहीं था।", "There was nobody in the room."),
    ("हम अगले हफ़्ते दिल्ली जाएँगे।", "We will go to Delhi next week."),
]
DRAWN = 1  # which of them the picture shows


def main(arguments=None):
    arguments = parsed(arguments)
    pairs = read_pairs(arguments.data)
    training, valid, test = split(pairs, arguments.held_out, arguments.seed)
    print(f"{len(training):,} pairs to train on, {len(valid)} to validate, {len(test)} to test")

    arguments.out.mkdir(parents=True, exist_ok=True)
    run = Run(arguments.out / "run")
    if not run.is_over():
        train(training, valid, run.directory, options_of(arguments), verbose=0)
    translator = kb.Translator.load(run.translator)

    measured = kb.evaluation.evaluate(translator, test)
    print(f"\n{measured}\n")
    scores = {**measured.scores(), "training_seconds": run.progress().seconds}
    (arguments.out / "scores.json").write_text(json.dumps(scores, indent=1))

    results = translator.translate([hindi for hindi, _ in SENTENCES])
    for (hindi, english), result in zip(SENTENCES, results, strict=True):
        print(f"{hindi}\n  {result.text}\n  {english} (what it means)")
    picture = arguments.out / "alignment.png"
    kb.plot_alignment(results[DRAWN], words=True).savefig(picture)
    print(f"\n{picture}")


def read_pairs(path):
    """(Hindi, English) pairs of a file with tabs, English first, in Unicode's form NFC.

    One letter can be written in several ways, such as क़: NFC makes them one.
    """
    pairs = {}
    for line in kb.data.read_lines(path):
        english, tab, rest = unicodedata.normalize("NFC", line).partition("\t")
        hindi = rest.partition("\t")[0]
        if not tab:
            raise SystemExit(f"A line must have English, a tab, and Hindi. Received: {line!r}")
        if is_devanagari(hindi):  # a header is not
            pairs[" ".join(hindi.split()), " ".join(english.split())] = None
    if not pairs:
        raise SystemExit(f"The second column must be Hindi. Received: {path}, which has none.")
    return list(pairs)  # each once


def is_devanagari(text):
    return any("\u0900" <= character <= "\u097f" for character in text)


def split(pairs, held_out, seed):
    """Pairs to train, to validate and to test on, with no sentence in two of them.

    Pairs that share a sentence of either language stay together.
    """
    neighbours = collections.defaultdict(list)
    for number, (hindi, english) in enumerate(pairs):
        neighbours["hi", hindi].append(number)
        neighbours["en", english].append(number)
    order = list(range(len(pairs)))
    random.Random(seed).shuffle(order)
    parts, wanted, seen = ([], [], []), [held_out, held_out], set()
    for first in order:
        if first in seen:
            continue
        group, waiting = [], [first]
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            group.append(pairs[number])
            hindi, english = pairs[number]
            waiting += neighbours["hi", hindi] + neighbours["en", english]
        place = next((i for i, size in enumerate(wanted) if len(parts[i]) + len(group) <= size), 2)
        parts[place].extend(group)
    valid, test, training = parts
    return training, valid, test


def options_of(arguments):
    """A small model that forgets a lot: a few thousand pairs are soon learnt by heart."""
    return TrainingOptions(
        joint=False,  # the scripts have no letter in common
        normalization="nmt_nfkc",
        vocabulary_size=arguments.vocabulary_size,
        embedding_units=arguments.units // 2,
        units=arguments.units,
        attention_units=arguments.units // 2,
        when="before",
        dropout=0.5,
        embedding_dropout=0.5,
        recurrent_dropout=0.2,
        word_dropout=0.1,
        label_smoothing=0.1,
        batch_tokens=1000,
        epochs=arguments.epochs,
        learning_rate=3e-3,
        ema_momentum=0.99,
        patience=8,
        seed=arguments.seed,
    )


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="file of pairs, English first, then Hindi")
    add("--out", type=Path, required=True, help="directory that receives everything")
    add("--epochs", type=int, default=60, help="most passes over the pairs (60)")
    add("--units", type=int, default=192, help="width of the decoder state (192)")
    add("--vocabulary-size", type=int, default=1500, help="tokens of each language (1500)")
    add("--held-out", type=int, default=200, help="pairs to validate on, and to test on (200)")
    add("--seed", type=int, default=0, help="of the split and the training (0)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
