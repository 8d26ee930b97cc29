"""Processing of many inputs in batches that fit in memory, with one batch per core at a time."""

import concurrent.futures
import math
from typing import Any, NamedTuple

import numpy as np
from keras import tree

from keras_bahdanau.layers import (
    AdditiveScore,
    Attention,
    Monotonic,
    MultiHeadAttention,
    NoCoverage,
    PastAttention,
    SelfAttentionReader,
)
from keras_bahdanau.models.encoder import layer_reduction
from keras_bahdanau.models.ensemble import Ensemble
from keras_bahdanau.models.hard_decoder import HardDecoder
from keras_bahdanau.models.seq2seq import Seq2Seq
from keras_bahdanau.settings.cores import usable_cores
from keras_bahdanau.settings.limits import BATCH_SIZE, MOST_SEARCH_NUMBERS, SEARCH_NUMBERS
from keras_bahdanau.settings.option import check_value


class SearchMemory(NamedTuple):
    """Memory that a search needs for one source.

    The logits of `logits_at_once` steps are in memory at the same time.
    """

    model: Any
    options: Any
    logits_at_once: int = 1

    def numbers(self, positions):
        """Count the values held for one source: scores, alignments, draws, states and attention."""
        options, vocabulary = self.options, self.model.target_vocabulary_size
        source_time = -(-positions // self.model.source_limits.reduction)
        limit = int(source_time * options.max_length_ratio + options.max_length_offset)
        time = min(max(limit, options.min_length), options.max_length)
        step = vocabulary * self.logits_at_once + hypothesis_numbers(self.model, source_time)
        if options.no_repeat_ngram:  # two one-hot matrices (see `NoRepeatedNgram`)
            step += 2 * (time + 1) * (math.isqrt(vocabulary) + 1)
        if options.random:
            step += options.max_length
        ctc = 2 * source_time * vocabulary if options.ctc_weight else 0
        hypotheses = options.beam_width * (step + 2 * time * source_time)
        return ctc + hypotheses + encoder_numbers(self.model, source_time)


def hypothesis_numbers(model, source_time):
    """Count the values that a step holds for one hypothesis, without logits and weights."""
    if isinstance(model, Ensemble):
        return sum(hypothesis_numbers(member, source_time) for member in model.models)
    if not isinstance(model, Seq2Seq):
        return 0
    decoder = model.decoder
    if isinstance(decoder, HardDecoder):  # it makes a prediction at each position
        pairs = source_time if decoder.cell.attention.remembers else 0
        return source_time * (decoder.vocabulary_size + decoder.readout.units + pairs)
    cell = decoder.cell
    attentions = getattr(cell, "attentions", [cell.attention])  # one per block
    states = sum(tree.flatten(cell.stack.state_sizes))
    return states + sum(attention_numbers(attention, source_time) for attention in attentions)


def attention_numbers(attention, source_time):
    """Count the values that an attention computes in a step of one hypothesis."""
    if isinstance(attention, MultiHeadAttention):
        return sum(attention_numbers(head, source_time) for head in attention.attentions)
    if isinstance(attention, PastAttention):
        past = attention.length * (2 * attention.units + 1)
        return past + attention_numbers(attention.attention, source_time)
    if not isinstance(attention, Attention):
        return 0
    score, normalizer, count = attention.score, attention.normalizer, 0
    if isinstance(score, AdditiveScore):  # W s_{i-1} + U h_j
        count += source_time * score.units
    if not isinstance(attention.coverage, NoCoverage):  # coverage has its own keys
        count += source_time * score.key_units
    if isinstance(normalizer, Monotonic):  # the last alignment, or pairs of positions
        count += source_time if normalizer.hard else 3 * source_time**2
    return count


def encoder_numbers(model, source_time):
    """Count the values per row in the largest part of an encoder, in addition to its output."""
    if isinstance(model, Ensemble):
        return sum(encoder_numbers(member, source_time) for member in model.models)
    if not isinstance(model, Seq2Seq):
        return 0
    most, time = 0, source_time
    for part in reversed([model.encoder.front_end, *model.encoder.readers]):
        time *= layer_reduction(part)  # length of the part's input
        if isinstance(part, SelfAttentionReader):  # weights between all positions, in one block
            most = max(most, part.heads * time**2)
        elif hasattr(part, "row_numbers"):  # a front end that compares its positions to each other
            most = max(most, part.row_numbers(time))
    return most


def map_batches(rows, batch_size, work, memory, tell=None):
    """Call `work(members, features)` for batches of rows, and return a result for each row.

    `work` runs in one thread per core and returns one result for each row index in the int array
    `members`. The results are in the order of the rows. `tell` is called with the number of rows
    done so far. Raises ValueError if a single row does not fit in memory.
    """
    check_value("batch_size", batch_size, BATCH_SIZE)
    results = [None] * len(rows.lengths)
    # long rows first, so that all cores finish at about the same time
    order = np.argsort(-rows.lengths, kind="stable")
    batches, done = [*_batches(order, rows.lengths, batch_size, memory)], 0

    def run(members):
        # padded to the longest row: (batch, source_time, ...)
        shape = (len(members), max(1, int(rows.lengths[members].max())))
        return [*work(members, rows.padded(members, shape))]

    with concurrent.futures.ThreadPoolExecutor(usable_cores()) as pool:
        for members, batch_results in zip(batches, pool.map(run, batches), strict=True):
            for member, result in zip(members, batch_results, strict=True):
                results[member] = result
            done += len(members)
            if tell is not None:
                tell(done)
    return results


def _batches(order, lengths, batch_size, memory):
    """Yield parts of `order`, the longest inputs first, with as many rows as fit in memory."""
    while order.size:
        longest = int(lengths[order[0]])
        numbers = memory.numbers(longest)
        if numbers > MOST_SEARCH_NUMBERS:
            raise ValueError(
                f"A search must have at most {MOST_SEARCH_NUMBERS:,} scores and weights in memory. "
                f"Received: an input of {longest:,} positions, "
                f"beam_width={memory.options.beam_width}, "
                f"max_length={memory.options.max_length}, "
                f"which need {numbers:,}. Reduce one of these."
            )
        rows = min(batch_size, max(1, SEARCH_NUMBERS // numbers))
        yield order[:rows]
        order = order[rows:]
