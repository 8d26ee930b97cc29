"""The operations that a stock TensorFlow Serving image runs on a CPU, and the harmful ones."""

import re
from typing import NamedTuple

import tensorflow as tf

# What tensorflow-text registers; the server links the same library.
_TEXT = """
CaseFoldUTF8 ConstrainedSequence FastBertNormalize FastWordpieceTokenizeWithOffsets
FindSourceOffsets MaxSpanningTree NormalizeUTF8 NormalizeUTF8WithOffsetsMap PhraseTokenize
RegexSplitWithOffsets RougeL SentenceFragments SentenceFragmentsV2 SentencepieceDetokenizeOp
SentencepieceIdToStringOp SentencepieceOp SentencepieceStringToIdOp SentencepieceTokenizeOp
SentencepieceTokenizeWithOffsetsOp SentencepieceVocabSizeOp SplitMergeTokenizeWithOffsets
TFText>BoiseTagsToOffsets TFText>ByteSplitByOffsets TFText>ByteSplitWithOffsets
TFText>FastSentencepieceDetokenize TFText>FastSentencepieceTokenize
TFText>FastWordpieceDetokenize TFText>NgramsStringJoin TFText>OffsetsToBoiseTags
TFText>PhraseDetokenize TFText>RoundRobinGenerateMasks TFText>RoundRobinTrim
TFText>Utf8Binarize TFText>WhitespaceTokenizeWithOffsetsV2 TokenizerFromLogits
UnicodeScriptTokenizeWithOffsets WhitespaceTokenizeWithOffsets WordpieceTokenizeWithOffsets
"""
# `tf.raw_ops` has TensorFlow's own operations only, whatever else this process has loaded.
KNOWN = frozenset(dir(tf.raw_ops)) | frozenset(_TEXT.split())


class Harm(NamedTuple):
    """Why a known operation must not be in a signature, and what to do."""

    why: str
    mend: str


_ON_GPU_ONLY = Harm(
    "runs on a GPU only, and the stock server has none",
    "Trace the export with `use_cudnn=False` on every recurrent layer.",
)
_COMPILED = Harm(
    "needs the XLA compiler, which the server switches off: each request fails",
    "Trace the export without `jit_compile=True`.",
)
_PYTHON = Harm(
    "calls a Python function, and the server has no Python",
    "Write that step with TensorFlow operations.",
)
_RANDOM = Harm(
    "draws random numbers: the same request gets another answer each time",
    "Trace the export with `training=False`, and search without sampling.",
)
_RAISES = Harm(
    "may raise, and one failing row fails all the requests of its batch",
    "Give a well-formed answer for every input instead.",
)
_WRITES = Harm(
    "writes to a variable or a table, which requests would change for each other",
    "Keep the state in the signature's inputs and outputs.",
)
_HARMFUL = {
    "(Cudnn|Nccl).*": _ON_GPU_ONLY,
    "_?Xla.*": _COMPILED,
    "(Eager)?PyFunc(Stateless)?": _PYTHON,
    ".*(Random|Multinomial|TruncatedNormal|CandidateSampler|SeedGenerator).*": _RANDOM,
    "Stateful(StandardNormal|Uniform).*|Rng.*|NonDeterministicInts|StatelessShuffle": _RANDOM,
    "Assert|CheckNumerics(V2)?": _RAISES,
    "Assign(Add|Sub)?(VariableOp)?|(Resource)?CountUpTo|(Resource)?StridedSliceAssign": _WRITES,
    "Resource(Scatter|(Sparse)?Apply).*|(Sparse)?Apply.*": _WRITES,
    "Scatter(Nd)?(Add|Div|Max|Min|Mul|Sub|Update)": _WRITES,
    "LookupTable(Import|Insert|Remove).*": _WRITES,
}


def harm_of(operation):
    """The `Harm` that an operation does in a signature, or None."""
    harms = (harm for names, harm in _HARMFUL.items() if re.fullmatch(names, operation))
    return next(harms, None)
