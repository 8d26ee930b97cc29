"""Suggestions for misspelled or guessed names, which are added to error messages."""

import dataclasses
import difflib
import functools
import inspect

SYNONYMS = {  # names in this package -> names for the same thing in other packages
    "attention_units": "attention_dim attention_size",
    "batch_tokens": "batch_size mini_batch",
    "batch_sentences": "batch_size",
    "beam_width": "beam_size beams num_beams",
    "beam_widths": "beam_size beams num_beams",
    "bfloat16": "bf16",
    "bpe": "sentencepiece wordpiece",
    "browser": "web",
    "cell": "decoder_type rnn rnn_type",
    "char": "characters chars",
    "characters": "char chars",
    "clip_norm": "grad_clip gradient_clip max_grad_norm",
    "decoder_depth": "dec_layers decoder_layers",
    "depth": "enc_layers encoder_layers layers num_layers",
    "directory": "dir output output_dir save_dir",
    "dot": "dot_product",
    "embedding_units": "embed_dim encoder_embed_dim word_vec_size",
    "epochs": "iterations max_epoch num_train_epochs",
    "evaluate": "score test",
    "exact": "acc accuracy word_accuracy wordacc",
    "export": "convert",
    "files": "input",
    "float16": "fp16 half",
    "from": "init pretrained",
    "general": "luong",
    "hard_alignment": "hard_attention",
    "heads": "multi_head",
    "image": "picture pictures",
    "initial": "init pretrained",
    "learning_rate": "lr",
    "length_normalization": "alpha lenpen",
    "litert": "tflite",
    "load_pipeline": "load_model",
    "max_length": "max_len max_tokens",
    "max_target_length": "max_len",
    "model": "m model_path",
    "nbest": "num_return_sequences",
    "out": "dir model_dir o output output_dir save_dir",
    "path": "output",
    "patience": "early_stopping",
    "perplexity": "loss ppl",
    "precision": "dtype fp16",
    "saved-model": "serving tf",
    "small": "base default",
    "source": "input src",
    "speech": "audio sound",
    "target": "tgt",
    "train": "fit",
    "translate": "decode generate predict",
    "units": "dim_rnn hidden hidden_dim hidden_size hidden_units latent_dim rnn_size",
    "valid_pairs": "validation validation_data",
    "valid_source": "validation",
    "vocabulary_size": "vocab",
    "vocabulary": "vocab",
    "warmup": "warmup_steps warmup_updates",
}
_CLOSE = 0.7  # minimum similarity in `difflib`
_OF_KERAS = {"activity_regularizer", "autocast", "dtype", "name", "trainable"}
_PLAIN = dict | str | int | float | list  # types that can't be settings
_MOST_NAMES = 12  # maximum number of names listed in an error
_LONGEST_VALUE = 60


def nearest_name(value, names):
    """Return the name that a wrong name probably means, by spelling or as a synonym, or None.

    Case, and the difference between hyphens and underscores, are ignored.
    """
    if not isinstance(value, str):
        return None
    spelled = {_plain(name): name for name in reversed([*names]) if isinstance(name, str)}
    guess = _plain(value)
    similar = difflib.get_close_matches(guess, spelled, 1, _CLOSE)
    extended = [name for name in spelled if guess in name.split("_")] if len(guess) > 2 else []
    for name in (guess, *_meant(guess), *similar, *reversed(extended)):
        if name in spelled:
            return spelled[name]
    return None


def nearest(value, names):
    """Return the end of an error message: the name that a wrong name probably means, or ""."""
    name = nearest_name(value, names)
    return "" if name is None else f". Did you mean {name!r}?"


def _meant(guess):
    """Return this package's names for a word from another package."""
    return [_plain(name) for name, words in SYNONYMS.items() if guess in words.split()]


def _plain(name):
    return name.strip("-").replace("-", "_").lower()


def check_keywords(**settings):
    """Decorator that explains unknown keywords of a function or of the public methods of a class.

    An unknown keyword raises a TypeError that suggests the closest parameter, or the correct
    settings.

    Args:
        **settings: Settings dataclasses, by the names of the parameters that accept them. With
            `search=SearchOptions`, for example, the error for `beam_size=4` suggests
            `search=SearchOptions(beam_width=...)`.
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

    Layers and models call `check_passed_on` instead, because Keras inspects their constructors.
    """
    if "__init__" in vars(kind):
        kind.__init__ = _checked(kind.__init__, title=kind.__name__)
    return kind


def unknown_keyword(title, name, value, names):
    """Create the TypeError for an unknown keyword of the function `title`.

    `names` contains the known keywords.
    """
    return _unknown(title, name, value, [{known: known for known in names}])


def check_passed_on(kind, kwargs):
    """Raise TypeError if a layer passes keywords to Keras that Keras does not accept."""
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
    """Yield groups of possible meanings of a keyword, {name: what to write}, most likely first."""
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
    """Create the TypeError for a keyword. Synonyms are preferred to names of similar spelling."""
    groups = [*remedies]
    received = f"{name}={value!r:.{_LONGEST_VALUE}}"
    message = f"`{title}` has no argument `{name}`. Received: {received}."
    synonyms = {_plain(name), *_meant(_plain(name))}
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
