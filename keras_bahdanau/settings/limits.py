"""Upper bounds of sizes, far above the needs of good models, and precisions of products."""

from keras_bahdanau.settings.option import integer, number

BATCH_SIZE = integer(1, 4096)  # inputs translated together
BEAM_WIDTH = integer(1, 1000)  # two million scores per step for one sentence and 2,000 tokens
LONGEST = 10_000  # tokens of a target
LENGTH = integer(1, LONGEST)
SOURCE_LENGTH = integer(1, 100_000)  # positions of a source, such as frames of speech
MOST_FIXED = 4096
DYNAMIC = "dynamic"  # as the length of an input: any length
FIXED_LENGTH = integer(1, MOST_FIXED)  # as SOURCE_LENGTH, for buffers of fixed length
WIDTH = integer(1, 10_000)  # of a trained layer: 400 MB of float32 per square matrix

HYPOTHESES = 2**15  # of a teacher's batch; 2**16 of them took 680 MB

PERCENT = number(0, 100)

PRECISIONS = "float32", "bfloat16"  # of products; also names of Keras policies

WORKERS = integer(1, 256)  # processes of a training, or of `prepare`, on one machine

MOST_TOKENS = 1_000_000  # of a vocabulary
HARD_VOCABULARY_SIZE = 10_000  # for hard attention, which predicts at each position
VOCABULARY_SIZE = integer(5, MOST_TOKENS)  # 4 of them are special
WIDEST = 100_000  # for any other size of a layer
MOST_OF_A_STATE = 2**27  # numbers in a decoder state, such as the keys of all steps
MOST_OF_AN_INPUT = 2**26  # numbers in one input of an exported model: 256 MB of float32
THREADS = integer(1, 1024)  # of a runner
SEARCH_NUMBERS = 2**27  # in the largest tensors of a batch search: 512 MB of float32
MOST_SEARCH_NUMBERS = 2**30  # the same for a batch of one input
MOST_STEPS = 100  # drawn in a picture of steps
MOST_SHARDS = 100_000  # of a corpus: their names have five digits
MOST_WORKERS = 1024  # for the shards of a corpus
