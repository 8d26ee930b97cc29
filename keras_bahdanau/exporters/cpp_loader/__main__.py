"""Run the package as a program, in the process that `run_in_clean_process` starts."""

from keras_bahdanau.exporters.cpp_loader.clean_process import main

main()
