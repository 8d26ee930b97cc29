"""The models of a configuration, with their versions and labels."""

import functools
from pathlib import Path

from keras_bahdanau.exporters.cpp_loader import SavedModelSession
from serving_double.batching import Batcher
from serving_double.configuration import BatchingParameters, read
from serving_double.errors import Refused
from serving_double.messages import saved_model_pb2

DEFAULT_SIGNATURE = "serving_default"


class Models:
    """The models that a server has loaded.

    Args:
        config: `ModelServerConfig`.
        batching: `BatchingParameters` of the server, or None without batching.
        own_batching: Whether each version is batched with its own parameters. A version without
            parameters is then not batched.
    """

    def __init__(self, config, batching=None, own_batching=False):
        self._versions, self._labels = {}, {}
        for model in config.model_config_list.config:
            base = Path(model.base_path)
            found = {int(path.name): path for path in base.iterdir() if path.name.isdecimal()}
            self._versions[model.name] = {
                number: Version(found[number], batching, own_batching)
                for number in _wanted(model.model_version_policy, sorted(found))
            }
            self._labels[model.name] = dict(model.version_labels)

    def find(self, name, number=None, label=None):
        """Return a version's number and its `Version`; by default, the highest one."""
        if label:
            if label not in self._labels.get(name, {}):
                raise Refused("INVALID_ARGUMENT", f"Unrecognized servable version label: {label}")
            number = self._labels[name][label]
        versions = self._versions.get(name, {})
        if number is None and versions:
            number = max(versions)
        if number not in versions:
            asked = f"Latest({name})" if number is None else f"Specific({name}, {number})"
            raise Refused("NOT_FOUND", f"Servable not found for request: {asked}")
        return number, versions[number]

    def numbers(self, name, number=None):
        """Return the numbers of the loaded versions, highest first, or only the given one."""
        versions = self._versions.get(name, {})
        if number is not None and number not in versions:
            raise Refused("NOT_FOUND", f"Could not find version {number} of model {name}")
        if not versions:
            raise Refused("NOT_FOUND", f"Could not find any versions of model {name}")
        return sorted(versions, reverse=True) if number is None else [number]

    def batch_sizes(self):
        """Return how many batches of each size have run, for each model, version and signature."""
        return {
            name: {number: version.batch_sizes() for number, version in versions.items()}
            for name, versions in self._versions.items()
        }


def _wanted(policy, found):
    kind = policy.WhichOneof("policy_choice")
    if kind == "all":
        return found
    if kind == "specific":
        return [number for number in policy.specific.versions if number in found]
    return found[-(policy.latest.num_versions or 1) :]


class Version:
    """A loaded SavedModel."""

    def __init__(self, path, batching, own_batching):
        self._session = SavedModelSession(path)
        self.signatures = self._session.signatures
        saved_model = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
        (self.meta_graph,) = saved_model.meta_graphs
        self._run = {name: functools.partial(self._answer, name) for name in self.signatures}
        own = path / "batching_params.pbtxt"
        if batching is not None and (own.exists() or not own_batching):
            parameters = read(own, BatchingParameters) if own_batching else batching
            threads = batching.num_batch_threads.value or 2
            self._run = {name: Batcher(run, parameters, threads) for name, run in self._run.items()}

    def signature(self, name):
        """Return a name and its `Signature`; "" means the default signature."""
        name = name or DEFAULT_SIGNATURE
        if name not in self.signatures:
            raise Refused("FAILED_PRECONDITION", f'Serving signature key "{name}" not found.')
        return name, self.signatures[name]

    def run(self, name, inputs, timeout=None):
        """Answer a request; all requests of a batch that exceeds `timeout` seconds are refused."""
        _, signature = self.signature(name)
        if inputs.keys() != signature.inputs.keys():
            extra, missing = inputs.keys() - signature.inputs, signature.inputs.keys() - inputs
            raise Refused(
                "INVALID_ARGUMENT",
                f"input size does not match signature: {len(inputs)}!={len(signature.inputs)}. "
                f"Sent extra: {{{','.join(extra)}}}. "
                f"Missing but required: {{{','.join(missing)}}}.",
            )
        run = self._run[name]
        return run(inputs, timeout) if isinstance(run, Batcher) else run(inputs)

    def batch_sizes(self):
        """Return how many batches of each size have run, for each signature."""
        batchers = {name: run for name, run in self._run.items() if isinstance(run, Batcher)}
        return {name: dict(batcher.sizes) for name, batcher in batchers.items()}

    def _answer(self, name, inputs):
        try:
            return self._session.run(name, **inputs)
        except (RuntimeError, TypeError, ValueError) as error:
            raise Refused("INVALID_ARGUMENT", str(error)) from error
