"""Runs `keras-bahdanau` as `python -m keras_bahdanau.cli`."""

from keras_bahdanau.cli import main

if __name__ == "__main__":
    main()
