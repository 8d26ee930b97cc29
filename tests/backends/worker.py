"""Run the models in the table on one backend, with the Python of its environment.

`python worker.py write FOLDER` makes, calls, searches, trains and saves each model, and writes the
answers to FOLDER/BACKEND. `python worker.py load FOLDER` loads what all backends have saved. Names
after FOLDER select some of the models.
"""

import sys
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
from backend_models import MODELS
from options import new_model

from keras_bahdanau.models import WordDistillation
from keras_bahdanau.models.losses import TokenCrossentropy
from keras_bahdanau.models.metrics import Perplexity
from keras_bahdanau.search import SearchOptions, beam_search, greedy_search

BACKEND = keras.backend.backend()
SUBWORDS = SimpleNamespace(vocabulary_size=10)
START, END, LONGEST = 2, 3, 4
SOURCE = np.array([[4, 5, 3], [0, 0, 0], [5, 3, 0]], "int32")
TARGET_OUT = np.array([[7, 8, 9, 3], [3, 0, 0, 0], [9, 3, 0, 0]], "int32")
TARGET_IN = np.pad(TARGET_OUT[:, :-1], [(0, 0), (1, 0)], constant_values=START)
ALIGNMENT = np.zeros((3, LONGEST, 3), "float32")
ALIGNMENT[0, :3] = np.eye(3)
ALIGNMENT[2, :, 0] = 1


def inputs_of(option):
    return (SOURCE, TARGET_IN, ALIGNMENT) if option.aligned else (SOURCE, TARGET_IN)


def randomize(model, seed, deviation):
    """Set the same weights on each backend, if the models are built in the same order."""
    random = np.random.default_rng(seed)
    weights = [random.normal(0, deviation, array.shape) for array in model.get_weights()]
    model.set_weights(weights)


def called(model, option):
    logits, weights = model(inputs_of(option), return_attention_scores=True)
    return {"logits": array(logits), "weights": array(weights)}


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def searched(model, option, method, width):
    """Return the `SearchResult` of a search over the model's steps, as named arrays."""
    prepared = model.encode(keras.ops.convert_to_tensor(SOURCE), *inputs_of(option)[2:])
    found = method(
        lambda tokens, state: model.decode_step(tokens, state, prepared),
        model.initial_state(prepared),
        limits=keras.ops.convert_to_tensor(LONGEST * SOURCE.any(axis=1).astype("int32")),
        options=SearchOptions(beam_width=width),
        start=START,
        end=END,
        time=LONGEST,
        source_time=SOURCE.shape[1],
    )
    return {name: array(field) for name, field in found._asdict().items()}


def trained(model, option):
    """Return the losses of three steps of `fit`, and the perplexity after them."""
    model.compile(
        keras.optimizers.SGD(0.5),
        TokenCrossentropy(**option.loss),
        weighted_metrics=[Perplexity()],
        run_eagerly=BACKEND == "tensorflow",  # other tests run these in graphs
    )
    data = {"x": inputs_of(option), "y": TARGET_OUT, "sample_weight": np.float32(TARGET_OUT > 0)}
    history = model.fit(**data, epochs=3, verbose=0).history
    evaluated = model.evaluate(**data, verbose=0, return_dict=True)
    return {"losses": history["loss"], "perplexity": evaluated["perplexity"]}


def losses_taught(option):
    """Return the losses of a student from the table, whose teacher is another such model."""
    student, teacher = (new_model(option, SUBWORDS) for _ in range(2))
    for seed, model in enumerate((student, teacher)):
        model.build()
        randomize(model, seed, deviation=0.5)
    student.word_distillation = WordDistillation(teacher, 0.8)
    return trained(student, option)["losses"]


def write(name, folder):
    """Compute and write all answers of one model, and its files."""
    option = MODELS[name]
    model = new_model(option, SUBWORDS)
    model.build()
    paths = [f"{variable.path} {variable.shape}" for variable in model.variables]
    randomize(model, seed=0, deviation=0.5)
    answers = {"paths": paths, **called(model, option)}
    answers["predicted"] = model.predict(inputs_of(option), verbose=0)
    for key, method, width in (("greedy", greedy_search, 1), ("beam", beam_search, 3)):
        found = searched(model, option, method, width)
        answers.update({f"{key}_{field}": found[field] for field in found})

    randomize(model, seed=1, deviation=0.1)
    answers.update(trained(model, option))
    stem = folder / BACKEND / name
    model.save_weights(f"{stem}.weights.h5")
    model.save(f"{stem}.keras")
    answers.update({f"trained_{key}": value for key, value in called(model, option).items()})
    if name == "plain":
        answers["losses_unbuilt"] = trained(new_model(option, SUBWORDS), option)["losses"]
        answers["losses_taught"] = losses_taught(option)
    np.savez(f"{stem}.npz", tensorflow="tensorflow" in sys.modules, **answers)


def load(name, folder):
    """Compute one model's answers with the weights that each backend has trained and saved."""
    option, answers = MODELS[name], {}
    for writer in sorted(path.name for path in folder.iterdir() if path.is_dir()):
        stem = f"{folder / writer / name}"
        model = new_model(option, SUBWORDS)
        model.build()
        model.load_weights(f"{stem}.weights.h5")
        whole = keras.saving.load_model(f"{stem}.keras", compile=False)
        for kind, loaded in (("weights", model), ("keras", whole)):
            found = called(loaded, option)
            answers.update({f"{writer}_{kind}_{key}": found[key] for key in found})
    np.savez(folder / BACKEND / f"{name} loaded.npz", **answers)


if __name__ == "__main__":
    task, folder = {"write": write, "load": load}[sys.argv[1]], Path(sys.argv[2])
    (folder / BACKEND).mkdir(exist_ok=True)
    for model_name in sys.argv[3:] or MODELS:
        keras.utils.clear_session()  # otherwise names would be numbered from model to model
        keras.utils.set_random_seed(0)
        task(model_name, folder)
