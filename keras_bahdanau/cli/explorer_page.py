"""The page that `--explore` writes: it explains the first inputs of a command step by step."""

import threading

from keras_bahdanau.cli.console import show_progress, warn
from keras_bahdanau.cli.output import check_writable
from keras_bahdanau.data.readers.lines import read_lines
from keras_bahdanau.data.readers.parallel_files import check_parallel
from keras_bahdanau.files.whole_file import new_file
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.option import check_value, integer

MOST, MOST_SIDES = 20, 4  # number of inputs, and of traces side by side
PATIENCE = 5.0  # seconds after which a line explains the delay


class Exploration:
    """Page that explains the first inputs of a command.

    `reference` is a file with one target for each input. `prefix` is the text that each output
    begins with. `importance` is the argument of that name of `Pipeline.trace`.
    """

    def __init__(self, path, reference=None, labels=("output",), prefix=None, importance=False):
        check_writable(path, "explore")
        from keras_bahdanau.plotting.explorer import check_page_name  # loads NumPy

        check_page_name("explore", path)
        sides = len(labels) + (reference is not None)
        check_value("number of models and references", sides, integer(1, MOST_SIDES))
        self.path, self.labels = path, list(labels)
        self._settings = {"explore": True, "prefix": prefix, "importance": importance}
        self.references = None if reference is None else read_lines(reference)
        if reference is not None:
            self.labels.append("reference")
        self._reference = reference
        self._inputs, self._results, self._left_out = [], [], 0

    def check_lines(self, path, count):
        """Raise ValueError unless there is one reference for each sentence in a file."""
        if self.references is not None:
            references = self._reference, len(self.references)
            check_parallel(source=(path, count), reference=references)

    def add(self, inputs, results):
        room = MOST - len(self._inputs)
        self._inputs += inputs[:room]
        self._results += results[:room]
        self._left_out += len(inputs[room:])

    def write(self, pipeline):
        """Trace the inputs, with every model if there is an ensemble, and write the page."""
        from keras_bahdanau.plotting import write_explorer

        self.check_lines("standard input", len(self._inputs) + self._left_out)
        if not self._inputs:
            warn("there is nothing to explore, so no page is written")
            return
        traces = self._traces(pipeline)
        with new_file(self.path) as draft:
            write_explorer(traces, draft, labels=self.labels)
        if self._left_out:
            warn(
                f"{str(self.path)!r} shows only the first {MOST} inputs; {self._left_out:,} are "
                "left out"
            )

    def _traces(self, pipeline):
        count = len(self._inputs)
        line = (
            f"explaining {count} of the inputs for {str(self.path)!r}: the first one takes the "
            "longest, because it builds the graphs for single steps"
        )
        waiting = threading.Timer(PATIENCE, warn, [line])
        waiting.start()
        traces = []
        try:
            for number in range(count):
                traces.append(self._sides(pipeline, number))
                show_progress(f"{number + 1:,} of {counted(count, 'inputs')} explained")
        finally:
            waiting.cancel()
        show_progress("")
        return traces

    def _sides(self, pipeline, number):
        source, result = self._inputs[number], self._results[number]
        members = getattr(pipeline.model, "models", None)
        if members is None:
            models, target = [pipeline], result
        else:  # each model decodes its own output
            parts = pipeline.target, pipeline.search
            models = [type(pipeline)(pipeline.source, model, *parts) for model in members]
            target = None
        traces = [model.trace(source, target, **self._settings) for model in models]
        if self.references is not None:
            traces.append(models[0].trace(source, self.references[number], **self._settings))
        return traces
