"""The double as a program of the repository's root, as the README of the kit starts it."""

import json
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tests.serving_double"]


@pytest.mark.slow
def test_it_answers_without_a_standard_input_until_it_is_terminated(toy_saved_model, tmp_path):
    text = (ROOT / "export" / "tf_serving" / "models.config").read_text(encoding="utf-8")
    config = tmp_path / "models.config"
    config.write_text(text.replace("/models/translator", str(toy_saved_model.parent)), "utf-8")
    flags = ["--port=0", "--rest_api_port=0", f"--model_config_file={config}"]
    with subprocess.Popen(
        [*COMMAND, *flags], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as double:
        ports = json.loads(double.stdout.readline())
        time.sleep(0.5)  # in which it ended once
        url = f"http://localhost:{ports['rest']}/v1/models/translator/labels/stable/metadata"
        assert urllib.request.urlopen(url).status == 200
        double.send_signal(signal.SIGTERM)
        assert double.wait(timeout=30) == 0


@pytest.mark.slow
def test_its_help_describes_each_flag():
    done = subprocess.run([*COMMAND, "--help"], cwd=ROOT, capture_output=True, text=True)
    flags = [part for part in done.stdout.split("options:")[1].split("\n  --") if part][1:]
    assert done.returncode == 0 and len(flags) > 10
    assert [flag for flag in flags if len(flag.split()) < 4] == []
