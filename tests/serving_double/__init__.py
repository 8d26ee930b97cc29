"""A test double of TensorFlow's model server. It isn't meant for users.

The double implements the server's gRPC `PredictionService` and its REST interface, merges requests
into batches as the server does, accepts the server's configuration files and flags, and runs
SavedModels in the server's C++ loader. That is enough to test clients and artefacts where no server
can be installed. The double also hangs or crashes where the server does: at requests without rows,
at requests of different ranks that share a padded batch, and at lists that are nested too deeply.
The double doesn't load new versions while it runs, and has no warm-up, monitoring, TLS, Classify or
Regress.

    python -m tests.serving_double --port=0 --rest_api_port=0 --model_config_file=FILE

When it is ready, it prints a line of JSON, `{"grpc": PORT, "rest": PORT}`. It exits at Ctrl-C or
SIGTERM. With --end_with_stdin, which tests use, it also exits when its standard input ends.
"""

import sys
from pathlib import Path

if __name__ != "serving_double":  # started in the repository root, as above
    sys.path.insert(0, str(Path(__file__).parents[1]))
