"""The format `saved-model-ids`: SavedModels without text operations, from features to ids."""

import dataclasses

from keras_bahdanau.exporters.card import vocabulary_files
from keras_bahdanau.exporters.exporter import require_plain_copies
from keras_bahdanau.exporters.publishing import newest_version
from keras_bahdanau.exporters.saved_model.saved_model_exporter import SavedModelExporter
from keras_bahdanau.exporters.saved_model.version_card import load_card
from keras_bahdanau.files.integrity import Damage


class IdsSavedModelExporter(SavedModelExporter):
    """SavedModels for clients that tokenize text themselves, for example in Java, Go or Rust.

    The graph contains no operation of tensorflow-text. The SentencePiece models are in
    `assets.extra`, where `card.json` contains the name of the model for each side. For the
    signatures, see `served_signatures.served_ids`.

    Example:
        >>> export(IdsSavedModelExporter(), translator, "models/en-de-ids")
    """

    purpose = "clients that split text themselves"
    artefact = "SavedModel of ids"
    text_operations = False
    pads_requests = True  # clients may send rows of any width
    target_length = "length"

    @classmethod
    def variants(cls, **settings):
        return []  # `export_all` writes the SavedModel of raw inputs

    @staticmethod
    def recognizes(path):
        version = newest_version(path) if path.is_dir() else None
        try:
            card = None if version is None else load_card(version)
        except Damage:
            return False
        return card is not None and card.get("format") == IdsSavedModelExporter.artefact

    def require(self, pipeline):
        super().require(pipeline)
        require_plain_copies(pipeline, f"A {self.artefact}")

    def compared(self, pipeline):
        search = pipeline.search
        writes = search.write_unknown or search.replace_unknown  # the client copies, not the graph
        search = dataclasses.replace(search, replace_unknown=False, write_unknown=writes)
        return pipeline.searching(search)

    def served(self, pipeline):
        from keras_bahdanau.exporters.saved_model.served_signatures import served_ids

        return served_ids(pipeline, self.signatures)

    def examples(self, pipeline):
        return {
            **super().examples(pipeline),
            **{"target": [[4, 3, 0], [4, 5, 3]], "target_length": [2, 3]},
            **{"prefix": [[4], [0]], "prefix_length": [1, 0]},
        }

    def resources(self, pipeline):
        return []

    def extra_files(self, pipeline):
        return vocabulary_files(pipeline)[0]

    def signature(self, pipeline, kind):
        return f"decode_ids_{kind}"

    def request(self, pipeline, inputs, prefixes=None):
        from keras_bahdanau.text.id_rows import IdRows

        request = pipeline.source.feature_requests(pipeline.source.batch(inputs))
        if prefixes is not None:
            rows = IdRows.from_lists([row[:-1] for row in pipeline.target.encode(prefixes)])
            shape = (len(prefixes), max(1, rows.lengths.max(initial=0)))
            request["prefix"] = rows.padded(range(len(prefixes)), shape)
            request["prefix_length"] = rows.lengths.astype("int32")
        return request

    def texts(self, pipeline, result):
        return pipeline.target.decode(result["ids"])

    def listed_texts(self, pipeline, result):
        return [pipeline.target.decode(row) for row in result["ids"]]
