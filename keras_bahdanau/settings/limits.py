"""Upper bounds of sizes, far above the needs of a good model, and the precisions of products."""

from keras_bahdanau.settings.option import integer, number

BATCH_SIZE = integer(1, 4096)  # inputs translated at once
BEAM_WIDTH = integer(1, 1000)  # of two million scores a step, for a sentence and 2,000 tokens
LONGEST = 10_000  # tokens of a target
LENGTH = integer(1, LONGEST)
SOURCE_LENGTH = integer(1, 100_000)  # positions of a source, such as frames of speech
MOST_FIXED = 4096
DYNAMIC = "dynamic"  # in place of the length of an input: any
FIXED_LENGTH = integer(1, MOST_FIXED)  # the same where buffers are that long for every sentence
WIDTH = integer(1, 10_000)  # of a trained layer: 400 MB in float32 for each square matrix

HYPOTHESES = 2**15  # of a batch of a teacher, whose process reached 680 MB with 2**16

PERCENT = number(0, 100)

PRECISIONS = "float32", "bfloat16"  # of products; names of Keras' policies, too

WORKERS = integer(1, 256)  # processes of a training, or of `prepare`, on one machine

MOST_TOKENS = 1_000_000  # of a vocabulary
HARD_VOCABULARY_SIZE = 10_000  # that hard attention predicts from each position of a source
VOCABULARY_SIZE = integer(5, MOST_TOKENS)  # of which 4 are special
WIDEST = 100_000  # of any other size of a layer
MOST_OF_A_STATE = 2**27  # numbers of a decoder state, such as the keys of all steps
MOST_OF_AN_INPUT = 2**26  # numbers of one input of an exported model: 256 MB in float32
THREADS = integer(1, 1024)  # of a runner
SEARCH_NUMBERS = 2**27  # in the largest tensors of a search of a batch: 512 MB in float32
MOST_SEARCH_NUMBERS = 2**30  # the same for one input, which no smaller batch can divide
MOST_STEPS = 100  # that a picture of steps draws
MOST_SHARDS = 100_000  # of a corpus, whose names have five digits
MOST_WORKERS = 1024  # that share the shards of a corpus
