"""The system that `evaluate --compare` names: a model, or a file of its outputs."""

from keras_bahdanau.cli.console import show_progress
from keras_bahdanau.cli.inputs import check_lines
from keras_bahdanau.cli.model_file import load_models, open_models, search_of
from keras_bahdanau.data.readers.lines import read_lines
from keras_bahdanau.text.features import is_token, untagged


class ComparedSystem:
    """A second system: the lines of a file, or a model that decodes the sources.

    `inputs` is the form of the first system's inputs, and `search` is a dictionary of the search
    options given on the command line.
    """

    def __init__(self, path, inputs, pairs, search, tag):
        self._lines, self._models, self._search, self._tag = None, None, None, tag
        self._sources = [source for source, _ in pairs]
        if path.is_dir() or path.suffix in (".keras", ".tflite", ".onnx"):
            self._models = open_models([path])
            _check_inputs(self._models[0].inputs, path, inputs)
            self._search = search_of(self._models, search)
        else:
            self._lines = read_lines(path)
            check_lines(len(self._lines), "compare", path, pairs)
        from keras_bahdanau.evaluation.significance import samples_for  # loads sacreBLEU

        samples_for(len(pairs))  # so that an error is raised before anything is decoded

    def load(self, plural):
        """Load the model now, so that any error is raised before the first system decodes."""
        if self._models is not None:
            self._translator = load_models(self._models)
            _check_inputs(self._translator.plural, self._models[0].path, plural)
            if self._search is not None:
                self._translator.check_options(self._search)

    def lines(self, batch_size):
        if self._lines is None:
            translator, sources = self._translator, self._sources
            if self._tag is not None and not is_token(self._tag, translator.source):
                sources = [untagged(self._tag, source) for source in sources]
            results = translator.decode(sources, batch_size, self._search, say=show_progress)
            self._lines = [result.text for result in results]
        return self._lines

    def compare(self, pairs, lines, batch_size, metrics, target, **settings):
        from keras_bahdanau import evaluation
        from keras_bahdanau.data.pairs import answers_by_source
        from keras_bahdanau.evaluation.corpus_metrics import metrics_of  # loads sacreBLEU

        answers = answers_by_source(pairs, target)
        lines, compared_lines = map(answers.compared, (lines, self.lines(batch_size)))
        order = [*enumerate(answers.numbers)]
        first_pairs = {number: pair for pair, number in reversed(order)}  # for each source
        rows = [first_pairs[number] for number in range(len(answers.sources))]
        systems = {
            False: (lines, compared_lines, answers.compared([text for _, text in pairs])),
            True: (
                [lines[row] for row in rows],
                [compared_lines[row] for row in rows],
                [*map(answers.compared, answers.references)],
            ),
        }
        chosen, compared = metrics_of(metrics), {}
        for by_source, arguments in systems.items():
            names = [metric.name for metric in chosen if metric.by_source == by_source]
            if names:
                comparisons = evaluation.compare(*arguments, metrics=names, **settings)
                compared.update(zip(names, comparisons, strict=True))
        return [compared[name] for name in metrics]


def _check_inputs(compared, path, inputs):
    if compared != inputs:
        raise ValueError(
            "Models can be compared only if they read the same type of input. "
            f"Received: compare={str(path)!r}, which reads {compared}, and a model that reads "
            f"{inputs}. Give another model, or a file of its outputs."
        )
