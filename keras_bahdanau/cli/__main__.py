"""`python -m keras_bahdanau.cli`, the same as `keras-bahdanau`."""

from keras_bahdanau.cli import main

if __name__ == "__main__":
    main()
