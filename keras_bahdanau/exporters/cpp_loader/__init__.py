"""A SavedModel as TensorFlow Serving runs it: in its C++ loader, without Python TensorFlow.

The model server is a C++ program, without Keras, Python functions or an XLA compiler.
`run_in_clean_process` runs a SavedModel under the same conditions, in a new process that calls
TensorFlow's C library, and needs the standard library and NumPy alone. That process is this
package as a program:

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
