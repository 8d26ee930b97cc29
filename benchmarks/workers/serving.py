"""One sentence at a time, as on a server or a phone: a SavedModel in C++, or a LiteRT file.

Each run takes the next sentence. TensorFlow's Python package and Keras aren't imported.
"""

import itertools

import numpy as np
from protocol import Job, serve


def saved_model(path, sentences):
    """Prepare a SavedModel in TensorFlow's C++ loader; the environment sets the threads."""
    from keras_bahdanau.exporters.cpp_loader import SavedModelSession

    session = SavedModelSession(path)
    return _job(
        lambda text: session.run("serving_default", text=np.array([text.encode()], object)),
        sentences,
    )


def litert(path, sentences):
    """Prepare a LiteRT file and its vocabulary, on one thread."""
    from keras_bahdanau.exporters import OnDeviceTranslator

    translator = OnDeviceTranslator(path)
    return _job(lambda text: translator.translate([text]), sentences)


def _job(translate, sentences):
    translate(sentences[0])  # the first call is slow
    following = itertools.cycle(sentences)

    def run():
        translate(next(following))
        return 1

    return Job(run)


if __name__ == "__main__":
    serve({"saved_model": saved_model, "litert": litert}, ["ai-edge-litert", "tensorflow"])
