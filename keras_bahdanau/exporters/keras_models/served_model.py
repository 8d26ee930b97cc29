"""A Keras model prepared for one export: signatures, graphs, and requests for the comparison."""

import dataclasses
import functools
import warnings

import keras
import tensorflow as tf

from keras_bahdanau.exporters.keras_models import drawn_examples
from keras_bahdanau.exporters.keras_models.class_labels import (
    LabelledSignature,
    Labels,
    SourceSignature,
)
from keras_bahdanau.exporters.keras_models.learning import learning_signatures
from keras_bahdanau.exporters.keras_models.model_inputs import has_time, inputs_of
from keras_bahdanau.exporters.keras_models.model_signature import (
    BoundedSignature,
    WeightsSignature,
    WholeSignature,
)
from keras_bahdanau.exporters.keras_models.portable_layers import (
    harms_of,
    layers_of,
    made_by,
    named_scopes,
    operations_by_layer,
    portable_layers,
    stateless,
    without_advice,
)
from keras_bahdanau.exporters.keras_models.streaming import StepSignature
from keras_bahdanau.exporters.tracing import portable, traced
from keras_bahdanau.files.integrity import require_finite_weights
from keras_bahdanau.models.step_model import StepModel


class ServedModel:
    """A model with the settings of its export, which are a `KerasModelExporter`.

    Attributes:
        model: The Keras model.
        signatures: Dictionary from names to `ModelSignature`.
    """

    def __init__(self, model, settings):
        self.model, self._settings = model, settings
        example = settings.examples if settings.source is None else None
        inputs = inputs_of(model, _first(example))
        if not inputs.resizable:
            inputs = inputs.resized(settings.length)
        if any(None in spec.shape[1:] for spec in inputs.specs.values()):
            why = "An unrolled layer needs inputs of fixed lengths."
            _require_plain(model, "unroll", why, "length=")
        with stateless(model), without_advice():
            ids = self._known_ids(inputs)
        if inputs.resizable:
            inputs = _with_integer_ids(inputs, ids).resized(settings.length)
            if settings.length is None:
                _warn_of_lengths(model, inputs)
        self.inputs = dataclasses.replace(inputs, ids=ids)
        self.labels = None
        if settings.labels is not None:
            self.labels = Labels.of_model(model, settings.labels, settings.from_logits)
        self.signatures = {}
        for name in settings.signatures:
            self.signatures |= self._signatures(name)

    def _known_ids(self, inputs):
        try:
            return drawn_examples.known_ids(self.model, inputs, portable_layers)
        except (ValueError, TypeError, tf.errors.OpError) as error:
            raise_in_one_line(error, self.model)

    def _signatures(self, name):
        """Return the signatures for one name in the setting `signatures`, as a dictionary."""
        if name != "train":
            return {name: self._signature(name)}
        settings, why = self._settings, "A file that learns keeps no state between two requests."
        _require_plain(self.model, "stateful", why, "a model without it")
        with without_advice():
            arguments = self.model, self.inputs, settings.rows, settings.narrow
            return learning_signatures(settings.head(self.model), *arguments)

    def _signature(self, name):
        settings = self._settings
        arguments = self.model, self.inputs, settings.rows, settings.narrow
        if name == "step":
            return StepSignature(*arguments)
        if name == "weights":
            return WeightsSignature(*arguments)
        why = "An artefact keeps no state between two requests."
        remedy = "signatures=('step',), whose states are inputs and outputs"
        _require_plain(self.model, "stateful", why, remedy)
        if settings.source is not None:
            return SourceSignature(settings.source, self.labels, *arguments)
        kind = BoundedSignature if settings.real_length else WholeSignature
        signature = kind(*arguments)
        if self.labels is None or settings.narrow:  # the card of a device file has the labels
            return signature
        return LabelledSignature(signature, self.labels)

    @functools.cached_property
    def functions(self):
        """Concrete functions, by the names of their signatures.

        Raises ValueError for harmful operations.
        """
        functions = self._traced()
        for name, operation, harm in harms_of(functions):
            layers = self.operations_by_layer().get(operation, [])
            raise ValueError(
                f"An exported model must not contain {operation}, which {harm.why}. Received: one "
                f"in the signature {name!r}{made_by(layers)}. {harm.remedy}"
            )
        return functions

    def _traced(self):
        changed = self._settings.while_tracing(layers_of(self.model))
        with portable_layers(self.model), changed, without_advice():
            return {
                name: traced(
                    self,
                    functools.partial(_answer, name),
                    signature.inputs,
                    self._settings.most_rows,
                )
                for name, signature in self.signatures.items()
            }

    def require_numbers(self, form):
        """Raise ValueError for a text input or output, which this kind of file can't have."""
        for name, function in self.functions.items():
            tensors = {**self.signatures[name].inputs, **function.structured_outputs}
            for key, tensor in tensors.items():
                if tensor.dtype == tf.string:
                    raise ValueError(
                        f"{form} has only numeric tensors. Received: {key!r} of the signature "
                        f"{name!r}, which is text. Export a SavedModel, or remove the layers that "
                        "read text from the model."
                    )

    def operations_by_layer(self):
        """Return a dictionary from each operation in any graph to descriptions of its layers."""
        origins = {}
        with named_scopes(self.model) as layers:
            functions = self._traced()
        for function in functions.values():
            for operation, described in operations_by_layer(function, layers).items():
                known = origins.setdefault(operation, [])
                known += [text for text in described if text not in known]
        return origins

    @functools.cached_property
    def compared_cases(self):
        """The `cases` with the model's original weights, which also warm up a server."""
        return self.cases()

    def cases(self):
        """Return a list of `ModelCase`: requests to each signature, with Keras' answers."""
        cases = []
        # on the CPU, like the artefacts: a GPU rounds products to 10 bits
        with without_advice(), portable(self.model), tf.device("CPU:0"):
            for signature in self.signatures.values():
                cases += self._cases_of(signature)
        return cases

    def _cases_of(self, signature):
        """Return the cases of a signature.

        Random inputs that Keras can't read are left out: some of them are too short.
        """
        if self._settings.examples is not None or self._settings.source is not None:
            return signature.cases(self._batches(signature))
        cases, failures = [], []
        in_turn = signature.name in ("step", "train")  # each answer is part of the next request
        for batch in self._batches(signature)[: 1 if in_turn else None]:
            try:
                cases += signature.cases([batch])
            except (ValueError, tf.errors.OpError) as error:
                failures.append(error)
        if not cases:
            raise_in_one_line(failures[0], self.model)
        return cases

    def _batches(self, signature):
        settings = self._settings
        if settings.source is not None:
            return signature.batches(settings.examples)
        if settings.examples is not None:
            return drawn_examples.given_batches(signature, settings.examples, settings.rows)
        return drawn_examples.drawn_batches(signature, settings.rows)


def raise_in_one_line(error, model):
    """Raise a ValueError with a one-line message for a model that fails on its inputs."""
    text = " ".join(str(error).split())
    if "Received:" in text and not text.startswith("Exception encountered"):
        raise error  # already on one line
    raise ValueError(
        "A model must accept the inputs that it declares. Received: "
        f"{model.name!r} ({text[:300]}). Set examples= or length= to what it accepts."
    ) from None


def _answer(name, served, /, **tensors):
    return served.signatures[name](**tensors)


def _first(examples):
    """Return the first batch of examples: it sets the shapes and dtypes of a subclassed model."""
    is_batches = isinstance(examples, list | tuple) and examples and isinstance(examples[0], dict)
    return examples[0] if is_batches else examples


def _with_integer_ids(inputs, ids):
    """Set the dtype of inputs that an `Embedding` reads to int32: only shapes are known."""
    specs = {
        name: tf.TensorSpec(spec.shape, tf.int32, name) if name in ids else spec
        for name, spec in inputs.specs.items()
    }
    return dataclasses.replace(inputs, specs=specs)


def _warn_of_lengths(model, inputs):
    """Warn about sequences that have a fixed length only because of the model's first call."""
    sequences = [spec for spec in inputs.specs.values() if has_time(spec) and spec.shape[1]]
    shapes = [f"{spec.name} {tuple(spec.shape)}" for spec in sequences]
    if shapes:
        warnings.warn(
            "An exported model without keras.Input accepts only the lengths of its first call, or "
            f"of examples=. Received: {model.name!r}, {', '.join(shapes)}. Set length='dynamic' to "
            "accept any length, or a number.",
            stacklevel=2,
        )


def _require_plain(model, flag, why, remedy):
    """Raise ValueError for a recurrent layer with a flag such as `stateful`."""
    for layer in layers_of(model):
        if getattr(layer, flag, False) is True:
            raise ValueError(
                f"{why} Received: {layer.name!r} ({type(layer).__name__}) with {flag}=True. "
                f"Use {remedy}, or set {flag}=False."
            )


def require_keras_model(model):
    """Raise TypeError unless `model` is a Keras model, and ValueError for non-finite weights."""
    if isinstance(model, StepModel):
        raise TypeError(
            "A sequence-to-sequence model is exported with its search. Received: "
            f"{type(model).__name__}. Pass the Pipeline that contains it, such as a Translator."
        )
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            "An export needs Keras with the TensorFlow backend. Received: the backend "
            f"{keras.backend.backend()}. Save the model, and load it with KERAS_BACKEND=tensorflow."
        )
    if not isinstance(model, keras.Model):
        raise TypeError(
            "`model` must be a Pipeline or a keras.Model. Received: type "
            f"{type(model).__name__}. Put a layer into keras.Sequential([keras.Input(...), layer])."
        )
    require_finite_weights(model)
