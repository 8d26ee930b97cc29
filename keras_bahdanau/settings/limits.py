"""Upper limits for sizes, far above those of good models, and precisions of matrix products."""

from keras_bahdanau.settings.option import integer, number

BATCH_SIZE = integer(1, 4096)  # number of inputs translated together
BEAM_WIDTH = integer(1, 1000)  # two million scores per step for a sentence and 2,000 tokens
LONGEST = 10_000  # tokens in a target
LENGTH = integer(1, LONGEST)
SOURCE_LENGTH = integer(1, 100_000)  # positions in a source, such as frames of speech
MOST_FIXED = 4096
DYNAMIC = "dynamic"  # means any length, as the length of an input
FIXED_LENGTH = integer(1, MOST_FIXED)  # like SOURCE_LENGTH, but for buffers of fixed length
WIDTH = integer(1, 10_000)  # of a trained layer: 400 MB of float32 per square matrix

HYPOTHESES = 2**15  # in a teacher's batch; 2**16 hypotheses took 680 MB

PERCENT = number(0, 100)

PRECISIONS = "float32", "bfloat16"  # of matrix products; also names of Keras policies

WORKERS = integer(1, 256)  # processes on one machine for training or for `prepare`

MOST_TOKENS = 1_000_000  # in a vocabulary
HARD_VOCABULARY_SIZE = 10_000  # for hard attention, which predicts at each position
VOCABULARY_SIZE = integer(5, MOST_TOKENS)  # including 4 special tokens
WIDEST = 100_000  # for any other size of a layer
MOST_OF_A_STATE = 2**27  # values in a decoder state, such as the keys of all steps
MOST_OF_AN_INPUT = 2**26  # values in one input of an exported model: 256 MB of float32
THREADS = integer(1, 1024)  # of a runner
SEARCH_NUMBERS = 2**27  # values in the largest tensors of a batch search: 512 MB of float32
MOST_SEARCH_NUMBERS = 2**30  # the same for a batch of one input
MOST_STEPS = 100  # decoding steps in one plot
MOST_SHARDS = 100_000  # in a corpus, because their names have five digits
MOST_WORKERS = 1024  # that read the shards of a corpus
