"""Names that users guess: the nearest name that exists, for the end of an error."""

import dataclasses
import difflib
import functools
import inspect

SYNONYMS = {  # words of other packages: ours, the likeliest first
    "acc": ("exact",),
    "accuracy": ("exact",),
    "additive": ("bahdanau",),
    "alpha": ("length_normalization",),
    "attention_dim": ("attention_units",),
    "attention_size": ("attention_units",),
    "audio": ("speech",),
    "base": ("small",),
    "batch_size": ("batch_tokens", "batch_sentences"),
    "beam": ("beam_width", "beam_widths"),
    "beam_size": ("beam_width", "beam_widths"),
    "beams": ("beam_width", "beam_widths"),
    "bf16": ("bfloat16",),
    "caption": ("read",),
    "char": ("characters",),
    "characters": ("char",),
    "chars": ("char", "characters"),
    "clip": ("clip_norm",),
    "convert": ("export",),
    "decay": ("weight_decay",),
    "decode": ("translate",),
    "decoder_layers": ("decoder_depth",),
    "decoder_type": ("cell",),
    "default": ("small",),
    "dir": ("out", "directory"),
    "dot_product": ("dot",),
    "dtype": ("precision",),
    "early_stopping": ("patience",),
    "embedding_dim": ("embedding_units",),
    "embedding_size": ("embedding_units",),
    "encoder_layers": ("depth",),
    "fit": ("train",),
    "fp16": ("float16", "precision"),
    "g2p": ("characters",),
    "generate": ("translate",),
    "grad_clip": ("clip_norm",),
    "gradient_clip": ("clip_norm",),
    "half": ("float16",),
    "hard_attention": ("hard_alignment",),
    "hidden": ("units",),
    "hidden_dim": ("units",),
    "hidden_size": ("units",),
    "hidden_units": ("units",),
    "inflection": ("characters",),
    "init": ("from", "initial"),
    "input": ("source", "files"),
    "iterations": ("epochs", "epoch_steps"),
    "keras": ("saved-model",),
    "latent_dim": ("units",),
    "layers": ("depth",),
    "load_model": ("load_pipeline",),
    "loss": ("perplexity",),
    "lr": ("learning_rate",),
    "luong": ("general",),
    "m": ("model",),
    "max_epochs": ("epochs",),
    "max_len": ("max_length", "max_target_length"),
    "max_tokens": ("max_length",),
    "mixed_bfloat16": ("bfloat16",),
    "mixed_precision": ("precision",),
    "model_dir": ("out", "model"),
    "model_path": ("model",),
    "multi_head": ("heads",),
    "n_best": ("nbest", "nbest_size"),
    "n_epochs": ("epochs",),
    "n_heads": ("heads",),
    "num_beams": ("beam_width", "beam_widths"),
    "num_epochs": ("epochs",),
    "num_heads": ("heads",),
    "num_layers": ("depth",),
    "num_return_sequences": ("nbest",),
    "o": ("out",),
    "output": ("out", "directory", "path"),
    "output_dir": ("out", "directory"),
    "picture": ("image",),
    "pictures": ("image",),
    "ppl": ("perplexity",),
    "predict": ("translate", "decode"),
    "pretrained": ("from", "initial"),
    "pronunciation": ("characters",),
    "quantize": ("quantization",),
    "rnn": ("cell",),
    "rnn_type": ("cell",),
    "save_dir": ("out", "directory"),
    "savedmodel": ("saved-model",),
    "score": ("evaluate",),
    "sentencepiece": ("bpe",),
    "serving": ("saved-model",),
    "smoothing": ("label_smoothing",),
    "sound": ("speech",),
    "src": ("source",),
    "test": ("evaluate",),
    "tf": ("saved-model",),
    "tflite": ("litert",),
    "tgt": ("target",),
    "time": ("minutes",),
    "transliteration": ("characters",),
    "valid": ("valid_source",),
    "validation": ("valid_source", "valid_pairs"),
    "validation_data": ("valid_pairs",),
    "vocab": ("vocabulary_size", "vocabulary"),
    "vocab_size": ("vocabulary_size",),
    "warmup_steps": ("warmup",),
    "web": ("browser",),
    "word_accuracy": ("exact",),
    "wordacc": ("exact",),
    "wordpiece": ("bpe",),
    "words": ("word",),
}
_CLOSE = 0.7  # ratio of `difflib`
_OF_KERAS = {"activity_regularizer", "autocast", "dtype", "name", "trainable"}
_PLAIN = dict | str | int | float | list  # which are no settings
_MOST_NAMES = 12  # that an error lists
_LONGEST_VALUE = 60


def nearest_name(value, names):
    """The name that a wrong one stands for, by its spelling or as a synonym; None if none is near.

    Hyphens, underscores and case make no difference.
    """
    if not isinstance(value, str):
        return None
    spelled = {_plain(name): name for name in reversed([*names]) if isinstance(name, str)}
    guess = _plain(value)
    meant = [_plain(name) for name in SYNONYMS.get(guess, ())]
    similar = difflib.get_close_matches(guess, spelled, 1, _CLOSE)
    extended = [name for name in spelled if guess in name.split("_")] if len(guess) > 2 else []
    for name in (guess, *meant, *similar, *reversed(extended)):
        if name in spelled:
            return spelled[name]
    return None


def nearest(value, names):
    """End of an error: the name that a wrong one stands for; "" if none is near."""
    name = nearest_name(value, names)
    return "" if name is None else f". Did you mean {name!r}?"


def _plain(name):
    return name.strip("-").replace("-", "_").lower()


def check_keywords(**settings):
    """Decorator of a function, or of a class with public methods, that explains unknown keywords.

    A keyword that is no parameter raises TypeError with the nearest one, or with the settings that
    have it.

    Args:
        **settings: For the name of a parameter the dataclass of its settings: with
            `search=SearchOptions`, `beam_size=4` leads to `search=SearchOptions(beam_width=...)`.
    """

    def decorate(target):
        if not inspect.isclass(target):
            return _checked(target, settings)
        for name, method in list(vars(target).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                setattr(target, name, _checked(method, settings))
        return target

    return decorate


def check_constructor(kind):
    """Class decorator that explains unknown keywords of a constructor, as `check_keywords` does.

    Not for layers and models, whose constructors Keras inspects: they call `check_passed_on`.
    """
    if "__init__" in vars(kind):
        kind.__init__ = _checked(kind.__init__, title=kind.__name__)
    return kind


def check_passed_on(kind, kwargs):
    """Raise TypeError if keywords that a layer of a class passes on to Keras are unknown there."""
    for name, value in kwargs.items():
        if name not in _OF_KERAS:
            names = [*inspect.signature(kind.__init__).parameters]
            remedies = [{known: known for known in names if known not in ("self", "kwargs")}]
            raise _unknown(kind.__name__, name, value, remedies)


def _checked(function, settings=None, title=None):
    settings, title = settings or {}, title or function.__name__
    parameters = inspect.signature(function).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    positions = {name: position for position, name in enumerate(parameters)}

    @functools.wraps(function)
    def checked(*args, **kwargs):
        if not (takes_all or parameters.keys() >= kwargs.keys()):
            name = next(name for name in kwargs if name not in parameters)
            remedies = _remedies(function, parameters, settings, args)
            raise _unknown(title, name, kwargs[name], remedies)
        for parameter, kind in settings.items():
            position = positions.get(parameter, len(args))
            value = kwargs.get(parameter, args[position] if position < len(args) else None)
            if isinstance(value, _PLAIN):
                raise TypeError(
                    f"`{parameter}` must be {kind.__name__}. Received: {parameter}="
                    f"{value!r:.{_LONGEST_VALUE}}. Give {parameter}={kind.__name__}(name=value)."
                )
        return function(*args, **kwargs)

    return checked


def _remedies(function, parameters, settings, args):
    """Groups of what a keyword may stand for, {name: what to write}, the likeliest first."""
    yield {name: name for name in parameters if name != "self"}
    for parameter, kind in settings.items():
        if parameter in parameters:
            fields = dataclasses.fields(kind)
            call = f"{parameter}={kind.__name__}"
            yield {field.name: f"{call}({field.name}=...)" for field in fields}
    for method in dir(type(args[0])) if args and "self" in parameters else ():
        if method.startswith(f"{function.__name__}_"):
            names = inspect.signature(getattr(type(args[0]), method)).parameters
            yield {name: f"{method}(..., {name}=...)" for name in names if name != "self"}


def _unknown(title, name, value, remedies):
    """The TypeError of a keyword; a synonym counts before a name that is only spelled so."""
    groups = [*remedies]
    received = f"{name}={value!r:.{_LONGEST_VALUE}}"
    message = f"`{title}` has no argument `{name}`. Received: {received}."
    synonyms = {_plain(name), *map(_plain, SYNONYMS.get(_plain(name), ()))}
    for group in groups:
        for key, text in group.items():
            if _plain(key) in synonyms:
                return TypeError(f"{message} Did you mean `{text}`?")
    for group in groups:
        key = nearest_name(name, group)
        if key is not None:
            return TypeError(f"{message} Did you mean `{group[key]}`?")
    names = [*groups[0]]
    if len(names) <= _MOST_NAMES:
        return TypeError(f"{message} Give one of {', '.join(names)}.")
    return TypeError(f"{message} `help({title})` lists all.")
