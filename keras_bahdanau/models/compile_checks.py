"""Checks of `compile` for losses and metrics that expect probabilities instead of logits."""

import keras

PROBABILITY_FUNCTIONS = {
    *("binary_crossentropy", "binary_focal_crossentropy", "categorical_crossentropy"),
    *("categorical_focal_crossentropy", "categorical_generalized_cross_entropy", "dice"),
    *("kl_divergence", "poisson", "sparse_categorical_crossentropy", "tversky"),
    *("binary_accuracy", "crossentropy", "ce"),  # strings that only `compile` resolves
}
PROBABILITY_METRICS = (
    *(keras.metrics.BinaryAccuracy, keras.metrics.FBetaScore, keras.metrics.KLDivergence),
    *(keras.metrics.Poisson, keras.metrics.Precision, keras.metrics.Recall),
)


def check_logits(loss, *metrics):
    """Raise ValueError if a loss or metric of `compile` expects probabilities."""
    for name, module, items, right in (
        (
            "loss",
            keras.losses,
            loss,
            "keras_bahdanau.losses.TokenCrossentropy(), or "
            "keras.losses.SparseCategoricalCrossentropy(from_logits=True)",
        ),
        (
            "metrics",
            keras.metrics,
            metrics,
            "keras_bahdanau.metrics.Perplexity(), 'accuracy', or from_logits=True",
        ),
    ):
        for item in keras.tree.flatten(items):
            if _reads_probabilities(item, module):
                received = repr(item) if isinstance(item, str) else _name(item)
                raise ValueError(
                    f"A Seq2Seq returns logits, not probabilities. Received: {name}={received}. "
                    f"Use {right}."
                )


def _reads_probabilities(item, module):
    if isinstance(item, str):
        if item in PROBABILITY_FUNCTIONS:
            return True
        try:
            item = module.get(item)
        except ValueError:  # `compile` rejects the name, or recognizes it as an accuracy
            return False
    if isinstance(item, type):
        item = item()
    if isinstance(item, PROBABILITY_METRICS):
        return True
    if isinstance(item, keras.losses.Loss | keras.metrics.Metric):
        if type(item).__module__.startswith("keras."):  # a custom class may convert logits
            from_logits = item.get_config().get("from_logits")
            function = getattr(item, "fn", None) or getattr(item, "_fn", None)
            reads = getattr(function, "__name__", "") in PROBABILITY_FUNCTIONS
            return reads if from_logits is None else not from_logits
        return False
    return getattr(item, "__name__", "") in PROBABILITY_FUNCTIONS


def _name(item):
    return getattr(item, "__name__", None) or f"{type(item).__name__}(...)"
