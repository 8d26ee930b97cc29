"""Trace of the values that a model computes, step by step, for one translation."""

import dataclasses

import numpy as np
from keras import ops, tree

from keras_bahdanau.pipelines.step_probe import step_importance
from keras_bahdanau.pipelines.translation import Translation
from keras_bahdanau.search import SearchTree, TreeRecorder
from keras_bahdanau.sources.picture import Picture
from keras_bahdanau.text.vocabulary import START

MOST_ALTERNATIVES = 64  # maximum number of steps with an alternative
WIDEST = 12  # maximum beam of a recorded tree


@dataclasses.dataclass(frozen=True)
class Alternative:
    """Translation that follows if one step chooses another token.

    Attributes:
        step: Integer, the step, counted from 0.
        token: The piece that is forced at this step: the most probable one that was not chosen.
        log_prob: log p of that piece.
        text: The best text that begins with the tokens before the step, followed by that piece.
        score: Score of the text, as in `Translation`.
        target_tokens: List of the pieces of the text.
    """

    step: int
    token: str
    log_prob: float
    text: str
    score: float
    target_tokens: list


@dataclasses.dataclass(frozen=True)
class Trace:
    """One translation and the values of its steps, in the notation of Bahdanau et al. (2015).

    S is the number of source tokens, and T is the number of target tokens, which is also the number
    of steps. Arrays are float32.

    Attributes:
        text: The translation.
        score: log p divided by the length penalty, as in `Translation`.
        source_tokens: List of S source pieces, including the end token.
        input_tokens: List of T pieces, y_{i-1}: the input of each step. The first is `<s>`.
        target_tokens: List of T pieces, y_i: the token chosen at each step.
        values: `(S, values_units)`, h_j, the encoder's value for each source token.
        initial_state: `(units,)`, s_0; zeros for self-attention.
        embedded: `(T, embedding_units)`, the embedding of y_{i-1}.
        query: `(T, query_units)`, s_{i-1}, or as the model's `query` and `when` define it.
        scores: `(T, S)`, e_ij, before mask and softmax, averaged over all heads. Zero if the model
            has no attention.
        weights: `(T, S)`, alpha_ij, averaged over all heads. For a `BlockCell`, the query, scores,
            weights and context are those of the highest block.
        context: `(T, context_units)`, c_i.
        state: `(T, units)`, s_i; for self-attention, the key that step i adds for later steps.
        output: `(T, output_units)`, the state that the readout reads: s_i, or as the model's
            `when` and `readout_state` define it.
        log_probs: `(T,)`, log p(y_i | y_1 ... y_{i-1}, x) of the chosen tokens.
        top_tokens: List of T lists of the most probable next pieces, best first.
        top_probabilities: `(T, top)`, the probabilities of these pieces.
        generation: `(T,)`, p_gen, the probability that a step generates its token instead of
            copying one (`log_mixture`); None for a model that does not copy.
        picture: `sources.Picture` of the input, or None.
        reads_context: Bool. False if tokens don't depend on c_i, as in a `HardDecoder`.
        tree: `search.SearchTree` of the beam search, with pieces as tokens; None if it was not
            requested, or if the search draws at random.
        alternatives: List with an `Alternative` for each of the first 64 steps; empty if they were
            not requested.
        importance: Dictionary from the name of a measure to `(T, S)`, in nats; empty if it was not
            requested. "leave-one-out, attention" is the drop in log p if the position is hidden
            from the attention at that step. "leave-one-out, input" is the drop if the position's
            vector before the encoder is replaced by the mean vector of the input. "gradient x
            input" is the derivative of log p with respect to a factor of that vector.
    """

    text: str
    score: float
    source_tokens: list
    input_tokens: list
    target_tokens: list
    values: np.ndarray
    initial_state: np.ndarray
    embedded: np.ndarray
    query: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    context: np.ndarray
    state: np.ndarray
    output: np.ndarray
    log_probs: np.ndarray
    top_tokens: list
    top_probabilities: np.ndarray
    generation: np.ndarray | None = None
    picture: Picture | None = None
    reads_context: bool = True
    tree: SearchTree | None = None
    alternatives: list = dataclasses.field(default_factory=list)
    importance: dict = dataclasses.field(default_factory=dict)

    @property
    def alignment(self):
        """The weights, under the name that they have in a `Translation`."""
        return self.weights


def trace(pipeline, example, target=None, top=5, explore=False, prefix=None, importance=False):
    """Trace one result (see `Pipeline.trace`)."""
    vocabulary = pipeline.target.vocabulary_size
    _check_example(pipeline.source, example)
    if not isinstance(top, int) or not 1 <= top <= vocabulary:
        raise ValueError(
            "`top`, the number of next tokens to record, must be from 1 to the size of the "
            f"vocabulary, {vocabulary}. Received: top={top!r}"
        )
    if prefix is not None and not isinstance(prefix, str):
        raise TypeError(f"`prefix` must be a string or None. Received: prefix={prefix!r}")
    result = _translation(pipeline, example, target, prefix)
    pieces = pipeline.target.tokens(np.arange(vocabulary)).tolist()
    features = pipeline.source.batch([example], pipeline.longest())  # (1, source_time, ...)
    _check_source(result, pipeline.labels(features)[0])
    chosen = ids_of_tokens(result.target_tokens, pieces)
    read = [START, *chosen][: max(1, len(chosen))]
    prepared, initial_state, steps = _run(pipeline.model, features, read)
    steps = {name: array[: len(chosen)] for name, array in steps.items()}
    length = len(result.source_tokens)
    log_probs = steps.pop("log_probs")  # (T, vocabulary)
    best = np.argsort(-log_probs, axis=1, kind="stable")[:, :top]  # -> (T, top)
    return Trace(
        text=result.text,
        score=result.score,
        source_tokens=result.source_tokens,
        input_tokens=[pieces[number] for number in read[: len(chosen)]],
        target_tokens=result.target_tokens,
        values=_array(prepared.projected.memory.values)[0, :length],
        initial_state=initial_state,
        scores=steps.pop("scores")[:, :length],
        weights=steps.pop("weights")[:, :length],
        log_probs=log_probs[np.arange(len(chosen)), chosen],  # -> (T,)
        top_tokens=[[pieces[number] for number in row] for row in best],
        top_probabilities=np.exp(np.take_along_axis(log_probs, best, axis=1)),
        picture=pipeline.picture(example),
        reads_context=pipeline.model.decoder.reads_context,
        tree=_search_tree(pipeline, features, pieces, prefix) if explore else None,
        alternatives=_alternatives(pipeline, example, chosen, log_probs, pieces) if explore else [],
        importance=step_importance(pipeline, example, chosen, length) if importance else {},
        **steps,
    )


def _translation(pipeline, example, target, prefix):
    if target is None:
        return pipeline.decode([example], prefixes=None if prefix is None else [prefix])[0]
    if isinstance(target, str | bytes):
        return pipeline.align([(example, target)])[0]
    if not isinstance(target, Translation):
        raise TypeError(
            "`target` must be a string, a Translation, or None for the model's own translation. "
            f"Received: target={target!r}"
        )
    return target


def _check_example(source, example):
    try:
        source.check("inputs", [example])
    except (TypeError, ValueError) as error:
        raise type(error)(f"A trace needs one input, not a list of inputs. {error}") from None


def _check_source(result, labels):
    if labels != result.source_tokens:
        raise ValueError(
            "`target` must be a Translation of the same input. "
            f"Received: a Translation of {result.source_tokens}, while the input is {labels}."
        )


def ids_of_tokens(tokens, pieces):
    """Return the int32 ids of target tokens, given the list of all pieces.

    Raises ValueError for a token that is not in the list.
    """
    id_of = {piece: number for number, piece in enumerate(pieces)}
    other = next((token for token in tokens if token not in id_of), None)
    if other is not None:
        raise ValueError(
            "`target` must be a Translation that consists of tokens of this model. "
            f"Received: a Translation with {other!r}, which is not one of them. Pass its text."
        )
    return np.array([id_of[token] for token in tokens], "int32")


def _run(model, features, tokens):
    """Run the decoder on `tokens`, the inputs of its steps.

    Returns (prepared memory, s_0, dictionary from the name of each value of a step to an array
    `(len(tokens), ...)`).
    """
    prepared = model.encode(tree.map_structure(ops.convert_to_tensor, features))
    state = model.initial_state(prepared)
    initial_state = _array(model.decoder.newest(state))[0]  # (1, units) -> (units,)
    steps = []
    for token in tokens:
        token = ops.convert_to_tensor([token], "int32")
        # logits (1, vocabulary)
        logits, shown, state = model.decoder.step(token, state, prepared.projected)
        embedded = model.decoder.embed(token)
        step = {
            **shown._asdict(),
            "embedded": embedded,
            "state": model.decoder.newest(state),
            "log_probs": ops.log_softmax(logits, axis=-1),
        }
        if model.decoder.copies:
            copying = model.decoder.copying(shown, embedded, prepared.projected.memory)
            step["generation"] = copying.generation
        steps.append(step)
    # each (1, ...) -> (time, ...)
    arrays = {name: np.concatenate([_array(step[name]) for step in steps]) for name in steps[0]}
    return prepared, initial_state, arrays


def _array(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


def _search_tree(pipeline, features, pieces, prefix=None):
    options = pipeline.search
    if options.random:
        return None
    options = dataclasses.replace(options, beam_width=min(options.beam_width, WIDEST))
    recorder = TreeRecorder(options)
    ids = None if prefix is None else pipeline.prefix_ids([prefix], options.max_length)
    pipeline.search_features(features, options, prefix=ids, visit=recorder)
    tree = recorder.tree()
    return tree._replace(tokens=[pieces[token] for token in tree.tokens])


def _alternatives(pipeline, example, chosen, log_probs, pieces):
    steps = range(min(len(chosen), MOST_ALTERNATIVES))
    remaining = np.array(log_probs)
    remaining[np.arange(len(chosen)), chosen] = -np.inf
    remaining[:, pipeline.unwritten()] = -np.inf
    if not pipeline.search.write_symbols:
        remaining[:, [*pipeline.target.symbol_ids]] = -np.inf
    second = remaining.argmax(axis=1)  # -> (T,)
    prefixes = [[*chosen[:step].tolist(), int(second[step])] for step in steps]
    options = dataclasses.replace(pipeline.search, temperature=None, top_k=None, top_p=None)
    results = pipeline.decode([example] * len(prefixes), search=options, prefixes=prefixes)
    return [
        Alternative(
            step=step,
            token=pieces[second[step]],
            log_prob=float(log_probs[step, second[step]]),
            text=result.text,
            score=result.score,
            target_tokens=result.target_tokens,
        )
        for step, result in zip(steps, results, strict=True)
    ]
