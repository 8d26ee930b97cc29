"""The records between encoder and decoder."""

from typing import Any, NamedTuple


class Memory(NamedTuple):
    """Output of an encoder, one source per row: all that a decoder can attend to.

    Attributes:
        values: Float tensor `(batch, source_time, values_units)`, the annotations h_j,
            zero at padding.
        mask: Bool tensor `(batch, source_time)`, True where a token is real.
        summary: Float tensor `(batch, summary_units)`, what the first decoder state is made of.
        last: Float tensor `(batch, values_units)`, the states behind the last token: all that
            a decoder without attention sees.
        task: Float tensor `(batch, embedding_units)`, the embedding of the first source token,
            which may be a language or task token (Johnson et al. 2017).
        symbols: Int32 tensor `(batch, source_time)`, the id of the target that each position
            can be copied as, -1 for none; or (), where nothing is copied.
    """

    values: Any
    mask: Any
    summary: Any
    last: Any
    task: Any
    symbols: Any = ()


class ProjectedMemory(NamedTuple):
    """Memory with its projections, computed once per source for all decoder steps.

    All tensors have the batch as their first axis: a search takes some rows of them.

    Attributes:
        memory: `Memory`.
        keys: The values as the attention's scores want them: its own structure of tensors.
        dropout_masks: Dropout masks drawn once a sentence, or ().
        alignment: Float tensor `(batch, target_time, source_time)`, weights given from
            outside, or ().
        emission: The values as the readout of hard attention wants them, float
            `(batch, source_time, units)`, or ().
    """

    memory: Any
    keys: Any
    dropout_masks: Any = ()
    alignment: Any = ()
    emission: Any = ()
