"""A few sentence pairs, and the size of their vocabulary for each model type."""

PAIRS = [
    ("the cat sat", "le chat"),
    ("a dog ran home", "un chien"),
    ("", "vide"),
    ("the red dog", "le chien rouge"),
] * 3
SENTENCES = [sentence for pair in PAIRS for sentence in pair]
SIZES = {"bpe": 40, "unigram": 24, "char": 21, "word": 18}
