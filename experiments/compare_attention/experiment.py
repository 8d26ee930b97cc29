"""Train one configuration on one corpus, and measure it."""

import collections
import math
import statistics
import time

import keras
import sacrebleu
from configurations import SIZE, TRAINING

import keras_bahdanau as kb
from keras_bahdanau.optimizers import AveragingAdam, averaged_weights

FEWEST = 20  # minimum number of test sentences for a point in a plot


def trained_subwords(corpus):
    """Return the `Subwords` for both sides of a corpus: one BPE vocabulary."""
    both, _ = kb.text.Subwords.train_pair(corpus.train, vocabulary_size=corpus.vocabulary_size)
    return both


def measured(corpus, subwords, configuration, size=SIZE, training=TRAINING, seed=0, say=print):
    """Train a configuration and translate the test sentences.

    Args:
        corpus: `Corpus`.
        subwords: `Subwords` for both sides, trained on its pairs.
        configuration: `Configuration`.
        size: Dictionary. Sizes that all configurations share.
        training: Dictionary. Training options that they share.
        seed: Integer. Seed for weights, dropout and the order of batches.
        say: Function of one string that reports progress.

    Returns:
        Dictionary with part of a row of `results.json`.
    """
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    settings = {**size, **configuration.overrides}
    model = kb.presets.new_model(configuration.preset, subwords, subwords, **settings)
    model.build()
    row = trained(model, corpus, subwords, training, seed, say)
    translator = kb.Translator(subwords, model, subwords)
    with averaged_weights(model):
        found = translator.translate([example.source for example in corpus.test])
        row["alignment_error_rate"] = _alignment_error_rate(translator, corpus.test)
    texts = [translation.text for translation in found]
    references = [example.target for example in corpus.test]
    row["bleu"] = bleu(texts, references, corpus.bleu_tokenizer)
    row["exact_match"] = round(statistics.fmean(map(str.__eq__, texts, references)), 4)
    row["by_length"] = by_length(corpus, texts)
    return row


def trained(model, corpus, subwords, training, seed, say, alignments=None):
    """Fit the model, and return its number of weights, epochs and seconds."""
    batches = kb.data.BatchedPairs(
        corpus.train,
        subwords,
        subwords,
        batch_tokens=training["batch_tokens"],
        alignments=alignments,
        seed=seed,
    )
    steps = corpus.epochs * batches.steps
    warmup = max(1, round(training["warmup"] * steps))
    rate = keras.optimizers.schedules.CosineDecay(
        0.0,
        max(1, steps - warmup),
        warmup_target=training["learning_rate"],
        warmup_steps=warmup,
    )
    model.compile(
        optimizer=AveragingAdam(
            rate, training["ema_momentum"], global_clipnorm=training["clip_norm"]
        ),
        loss=kb.losses.TokenCrossentropy(training["label_smoothing"]),
    )
    wall, processor = time.perf_counter(), time.process_time()

    def tell(epoch, logs):
        seconds = time.perf_counter() - wall
        say(f"  epoch {epoch + 1}/{corpus.epochs}: loss {logs['loss']:.3f}, {seconds:.0f} s")

    model.fit(
        batches.dataset(),
        epochs=corpus.epochs,
        shuffle=False,
        verbose=0,
        callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=tell)],
    )
    return {
        "weights": sum(math.prod(variable.shape) for variable in model.trainable_variables),
        "epochs": corpus.epochs,
        "seconds": round(time.perf_counter() - wall, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
    }


def bleu(texts, references, tokenizer):
    """Return sacreBLEU's BLEU of a corpus."""
    score = sacrebleu.corpus_bleu(texts, [references], tokenize=tokenizer, force=True).score
    return round(score, 2)


def _alignment_error_rate(translator, test):
    """Return the alignment error rate of the most attended words, or None without links."""
    if not any(example.sure for example in test):
        return None
    read = translator.align([(example.source, example.target) for example in test])
    links = [
        kb.text.alignments.word_links(pair.source_tokens, pair.target_tokens, pair.alignment)
        for pair in read
    ]
    if not any(links):
        return None
    error_rate = kb.text.alignments.alignment_error_rate(
        links, [example.sure for example in test], [example.possible for example in test]
    )
    return round(error_rate, 4)


def by_length(corpus, texts):
    """Return BLEU by source length, in multiples of half the median length.

    Args:
        corpus: `Corpus`.
        texts: List of strings. Translations of its test sentences.

    Returns:
        List of dictionaries, shortest first: length as `times` the median, rounded to halves,
        the mean number of source `words`, the number of `sentences`, and their `bleu`.
    """
    lengths = [len(example.source.split()) for example in corpus.test]
    median, groups = statistics.median(lengths), collections.defaultdict(list)
    for number, length in enumerate(lengths):
        groups[math.floor(2 * length / median + 0.5) / 2].append(number)
    return [
        {
            "times": times,
            "words": round(statistics.fmean(lengths[number] for number in members), 1),
            "sentences": len(members),
            "bleu": bleu(
                [texts[number] for number in members],
                [corpus.test[number].target for number in members],
                corpus.bleu_tokenizer,
            ),
        }
        for times, members in sorted(groups.items())
        if len(members) >= FEWEST
    ]
