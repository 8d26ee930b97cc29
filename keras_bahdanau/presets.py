"""Named configurations: a tokenizer in, an untrained model out."""

from keras_bahdanau.layers import BahdanauAttention
from keras_bahdanau.models import Decoder, Encoder, Seq2Seq


def small(
    tokenizer,
    *,
    embedding_units=256,
    units=512,
    attention_units=256,
    cell="gru",
    depth=1,
    dropout=0.35,
):
    """The package's own default: RNNsearch with a GRU, for tens of thousands of sentence pairs.

    The embedding also is the output layer, and where source and target have one
    vocabulary, they share it: three uses of one matrix.

    Args:
        tokenizer: A `Tokenizer`; it says how large the vocabularies are.
        embedding_units: Width of embeddings and readout.
        units: Width of the decoder state; each encoder direction has half of it.
        attention_units: Width of the attention's hidden layer.
        cell: "gru" or "lstm".
        depth: Encoder layers.
        dropout: Share dropped of embeddings, values and readout.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    encoder = Encoder(
        tokenizer.source_vocabulary_size,
        embedding_units,
        max(1, units // 2),
        cell=cell,
        depth=depth,
        dropout=dropout,
        name="encoder",
    )
    decoder = Decoder(
        tokenizer.target_vocabulary_size,
        embedding_units,
        units,
        attention=BahdanauAttention(attention_units, name="attention"),
        cell=cell,
        dropout=dropout,
        tie_embeddings=True,
        name="decoder",
    )
    return Seq2Seq(encoder, decoder, share_embeddings=tokenizer.joint, name="seq2seq")
