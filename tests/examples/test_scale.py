"""The example for many machines: on Ray, if installed, and the manifest for Kubernetes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import toy_pairs

from keras_bahdanau.training import Run

FOLDER = Path(__file__).parents[2] / "examples" / "scale"
ROOT = FOLDER.parents[1]


def test_the_manifest_has_the_fields_of_the_operator():
    yaml = pytest.importorskip("yaml")
    models = pytest.importorskip("kubeflow.training.models")
    from kubernetes import client

    manifest = yaml.safe_load((FOLDER / "tfjob.yaml").read_text(encoding="utf-8"))
    api = client.ApiClient()
    for name in dir(models):  # the operator's models refer to each other and to those of Kubernetes
        if name.startswith(("V1", "KubeflowOrgV1")):
            setattr(client.models, name, getattr(models, name))
    job = api.deserialize(Answer(manifest), "KubeflowOrgV1TFJob")  # raises if a field is missing
    assert api.sanitize_for_serialization(job) == manifest  # an unknown field would be dropped
    (worker,) = job.spec.tf_replica_specs.values()
    assert worker.replicas > 1 and worker.restart_policy == "OnFailure"
    (container,) = worker.template.spec.containers
    assert container.name == "tensorflow"  # only this container gets a TF_CONFIG


def test_the_command_of_the_manifest_is_one_of_the_program(capsys):
    from keras_bahdanau import cli

    text = (FOLDER / "tfjob.yaml").read_text(encoding="utf-8")
    lines = [line.strip().removeprefix("- ") for line in text.partition("command:")[2].splitlines()]
    program, command, *arguments = lines[1 : lines.index("resources:")]
    assert (program, command) == ("keras-bahdanau", "train")
    with pytest.raises(SystemExit) as ended:
        cli.main([command, *arguments, "--help"])
    told = capsys.readouterr().out
    options = [argument.partition("=")[0] for argument in arguments if argument.startswith("--")]
    assert ended.value.code == 0 and options
    assert all(f"{option} " in told for option in options)


class Answer:
    """A response as a Kubernetes server would return it."""

    def __init__(self, content):
        self.data = json.dumps(content)


@pytest.mark.slow
def test_ray_trains_with_two_workers(tmp_path):
    pytest.importorskip("ray.train.tensorflow")
    lines = [f"{source}\t{target}\n" for source, target in toy_pairs()]
    (tmp_path / "train.tsv").write_text("".join(lines[:120]), encoding="utf-8")
    (tmp_path / "valid.tsv").write_text("".join(lines[120:]), encoding="utf-8")
    subprocess.run(
        [
            *(sys.executable, FOLDER / "ray_train.py", "train.tsv", "valid.tsv"),
            *("--out", "run", "--epochs=1", "--batch-tokens=1000", "--workers=2"),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""},
        check=True,
    )
    run = Run(tmp_path / "run")
    assert run.is_over() and run.translator.is_file()
