"""The other system of `evaluate --compare`: lines of a file, or a model."""

from keras_bahdanau.cli.arguments import find_models, is_litert, load_translator, search_of
from keras_bahdanau.cli.console import show_progress
from keras_bahdanau.cli.inputs import check_lines, inputs_of
from keras_bahdanau.data.readers.lines import read_lines
from keras_bahdanau.text.features import is_token, untagged


class OtherSystem:
    """Another system: lines of a file, or a model that is yet to decode the sources.

    Args:
        path: Path of the file, or of the model.
        inputs: String, the form of the inputs of the first system.
        pairs: List of (source, target).
        asked: Dictionary of the search options that the command line has.
        tag: String before each source, or None.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it has other lines, reads other inputs, or there are too many pairs.
    """

    def __init__(self, path, inputs, pairs, asked, tag):
        self._lines, self._model, self._search, self._tag = None, None, None, tag
        self._sources = [source for source, _ in pairs]
        if path.is_dir() or path.suffix == ".keras" or is_litert(path):
            (self._model,) = find_models([path])
            _check_inputs(inputs_of(self._model), path, inputs)
            self._search = search_of(self._model, asked)
        else:
            self._lines = read_lines(path)
            check_lines(len(self._lines), "compare", path, pairs)
        from keras_bahdanau.evaluation.significance import samples_for  # which loads sacreBLEU

        samples_for(len(pairs))  # or an error, before anything is decoded

    def load(self, plural):
        """Load the model, or say why that can't be, before the first one decodes for long.

        Args:
            plural: String, what the first one reads: both images and recordings are files.
        """
        if self._model is not None:
            self._translator = load_translator([self._model])
            _check_inputs(self._translator.plural, self._model, plural)
            if self._search is not None:
                self._translator.check_options(self._search)

    def lines(self, batch_size):
        """Its texts."""
        if self._lines is None:
            translator, sources = self._translator, self._sources
            if self._tag is not None and not is_token(self._tag, translator.source):
                sources = [untagged(self._tag, source) for source in sources]
            found = translator.decode(sources, batch_size, self._search, say=show_progress)
            self._lines = [translation.text for translation in found]
        return self._lines

    def compared(self, pairs, lines, batch_size, metrics, **settings):
        """Compare its texts with those of the first system.

        Args:
            pairs: List of (source, target).
            lines: List of strings, the texts of the first one.
            batch_size: Integer.
            metrics: List of names; each counts pairs or sources.
            **settings: Arguments of `evaluation.compare`.

        Returns:
            List of a `Comparison` by each metric.
        """
        from keras_bahdanau import evaluation
        from keras_bahdanau.data.pairs import answers_by_source
        from keras_bahdanau.evaluation.corpus_metrics import metrics_of  # which loads sacreBLEU

        others = self.lines(batch_size)
        answers = answers_by_source(pairs)
        order = [*enumerate(answers.numbers)]
        firsts = {number: pair for pair, number in reversed(order)}  # the first pair of each source
        firsts = [firsts[number] for number in range(len(answers.sources))]
        systems = {
            False: (lines, others, [text for _, text in pairs]),
            True: ([lines[i] for i in firsts], [others[i] for i in firsts], answers.references),
        }
        chosen, compared = metrics_of(metrics), {}
        for by_source, arguments in systems.items():
            names = [one.name for one in chosen if one.by_source == by_source]
            if names:
                found = evaluation.compare(*arguments, metrics=names, **settings)
                compared.update(zip(names, found, strict=True))
        return [compared[name] for name in metrics]


def _check_inputs(found, path, inputs):
    if found != inputs:
        raise ValueError(
            "Two models are compared on the same inputs. "
            f"Received: compare={str(path)!r}, which reads {found}, beside a model that reads "
            f"{inputs}. Give another model, or a file of its texts."
        )
