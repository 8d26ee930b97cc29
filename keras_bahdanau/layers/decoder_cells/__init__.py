"""ONE target step: the only place where the step's mathematics is written.

Training scans it, search and the exported files iterate it.
"""

from keras_bahdanau.layers.decoder_cells.bahdanau import DecoderCell
from keras_bahdanau.layers.decoder_cells.blocks import BlockCell
from keras_bahdanau.layers.decoder_cells.conditional import ConditionalCell
from keras_bahdanau.layers.decoder_cells.decoder_cell import DecoderState, Step
from keras_bahdanau.layers.decoder_cells.input_feeding import InputFeedingCell
from keras_bahdanau.layers.decoder_cells.unfed import UnfedCell

DECODER_CELLS = {
    "before": DecoderCell,
    "after": InputFeedingCell,
    "between": ConditionalCell,
    "apart": UnfedCell,
    "blocks": BlockCell,
}

__all__ = [
    "DECODER_CELLS",
    "BlockCell",
    "ConditionalCell",
    "DecoderCell",
    "DecoderState",
    "InputFeedingCell",
    "Step",
    "UnfedCell",
]
