"""Run a SavedModel in TensorFlow's C++ loader, like TensorFlow Serving, without Python TensorFlow.

`run_in_clean_process` starts a process that needs only the standard library and NumPy. The process
runs this package as a program:

    python -m keras_bahdanau.exporters.cpp_loader SAVED_MODEL < REQUESTS > ANSWERS
"""

from keras_bahdanau.exporters.cpp_loader.clean_process import (
    main,
    run_in_clean_process,
    timed_in_clean_process,
)
from keras_bahdanau.exporters.cpp_loader.meta_graph import Signature, TensorSpec
from keras_bahdanau.exporters.cpp_loader.session import SavedModelSession

__all__ = [
    "SavedModelSession",
    "Signature",
    "TensorSpec",
    "main",
    "run_in_clean_process",
    "timed_in_clean_process",
]
