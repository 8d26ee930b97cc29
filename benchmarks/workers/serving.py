"""One sentence at a time, as a server or a phone is asked: a SavedModel in C++, or a LiteRT file.

Each run is the next sentence. Neither imports TensorFlow's Python package or Keras.
"""

import itertools

import numpy as np
from protocol import Job, serve


def saved_model(path, sentences):
    """A SavedModel in TensorFlow's C++ loader, on as many threads as the environment says."""
    from keras_bahdanau.exporters.cpp_loader import SavedModelSession

    session = SavedModelSession(path)
    return _job(
        lambda text: session.run("serving_default", text=np.array([text.encode()], object)),
        sentences,
    )


def litert(path, sentences):
    """A LiteRT file and its vocabulary, on one thread."""
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
