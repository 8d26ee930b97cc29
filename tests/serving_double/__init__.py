"""A test double of TensorFlow's model server. It is not a server for users.

It speaks the server's gRPC `PredictionService` and its REST interface, merges requests into
batches as the server does, takes the server's configuration files and flags, and runs SavedModels
in the server's C++ loader: enough to hold clients and artefacts against, where no server can be
installed. Where the server hangs or ends, so does the double: at a request without rows, at
requests of different rank that share a padded batch, at lists nested too deep. What the server does
and this double does not: loading new versions while it runs, warm-up, monitoring, TLS, Classify and
Regress.

    python -m tests.serving_double --port=0 --rest_api_port=0 --model_config_file=FILE

It prints one line of JSON, `{"grpc": PORT, "rest": PORT}`, when it is ready, and ends at Ctrl-C or
SIGTERM; with --end_with_stdin, which tests give, also when its standard input does.
"""

import sys
from pathlib import Path

if __name__ != "serving_double":  # started in the repository's root, as above
    sys.path.insert(0, str(Path(__file__).parents[1]))
