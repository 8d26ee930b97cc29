"""Compare the file formats of one model on its dev inputs, and write a table and JSON figures.

    python benchmarks/formats.py examples/pronounce/models/ice.keras dev.tsv
    python benchmarks/formats.py examples/dates/models/dates.keras dev.txt --formats onnx litert

The inputs are those of `keras-bahdanau export --sentences`: lines, a TSV file of both sides, or a
manifest. Each format answers one input at a time, on one thread, and is compared with Keras:
SavedModel, LiteRT and ONNX in float32, and LiteRT and ONNX in 8 bits. For text models, "memory" is
the peak of a process that loads one file and answers up to 100 inputs. If a format fails, the
program prints the error and omits the format from the table, and its exit code is 1. Run it on an
otherwise idle core: `taskset -c 1 python benchmarks/formats.py`.
"""

import argparse
import dataclasses
import datetime
import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import machine  # noqa: E402
from line_programs import Runner  # noqa: E402

ONE_THREAD = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
REMEMBERED = 100  # number of inputs before memory is measured
FORMATS = {  # name in --formats -> (format, settings)
    "saved-model": ("saved-model", {}),
    "litert": ("litert", {}),
    "litert-int8": ("litert", {"quantization": "int8"}),
    "onnx": ("onnx", {}),
    "onnx-int8": ("onnx", {"quantization": "int8"}),
}


def main(arguments=None):
    """Run the program; return its exit code."""
    options = _parser().parse_args(arguments)
    os.environ |= {**dict.fromkeys(ONE_THREAD, "1"), "CUDA_VISIBLE_DEVICES": "-1"}
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from keras_bahdanau.exporters.parity import table

    rows, errors, memory = compared(options)
    print(table(rows))
    parts = [f"{name} {mebibytes:.0f}" for name, mebibytes in memory.items()]
    print(f"memory, MiB: {', '.join(parts) or 'not measured'}")
    if options.json:
        result = {
            "model": str(options.model),
            "processor": machine.described(),
            "date": datetime.date.today().isoformat(),
            "rows": [dataclasses.asdict(row) for row in rows],
            "memory_mib": memory,
            "errors": errors,
        }
        text = json.dumps(result, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")
    return int(bool(errors))


def compared(options):
    """Return (`Parity` of Keras and of each format, {format: error}, {artefact: MiB})."""
    from keras_bahdanau.cli.commands.export import _comparison_inputs
    from keras_bahdanau.cli.console import load_tensorflow
    from keras_bahdanau.cli.model_file import load_models, open_model
    from keras_bahdanau.exporters import FORMATS as KINDS
    from keras_bahdanau.exporters.comparison import Comparison

    load_tensorflow(1)
    model = open_model(options.model)
    sentences, references = _comparison_inputs(model, options.inputs, None)
    sentences = sentences[: options.limit]
    references = references[: options.limit] if references else None
    pipeline = load_models([model])
    comparison = Comparison(pipeline, sentences, references, say=report)
    rows, errors, memory = [comparison.keras], {}, {}
    if model.inputs == "lines":
        memory["Keras"] = peak_memory(model.path, sentences)
    with tempfile.TemporaryDirectory() as directory:
        for name in options.formats:
            format, settings = FORMATS[name]
            exporter = KINDS[format](**settings)
            # a SavedModel is reported by the last two parts of its path
            path = Path(directory, name, f"model{exporter.suffix}" if exporter.suffix else "1")
            path.parent.mkdir()
            try:
                exporter.write(pipeline, path)
                rows.append(comparison.row(exporter, path))
                report(str(rows[-1]))
                if memory:
                    memory[exporter.artefact] = peak_memory(path, sentences)
            except Exception as error:  # the other formats continue
                errors[name] = " ".join(str(error).split())[:500]
                report(f"{name}: {type(error).__name__}: {errors[name]}")
    return rows, errors, memory


def peak_memory(path, sentences):
    """Return the peak memory, in MiB, of a process that answers the first sentences."""
    worker = "saved_model.py" if path.is_dir() else "pipelines.py"
    with Runner([sys.executable, HERE / "workers" / worker, path]) as runner:
        for sentence in sentences[:REMEMBERED]:
            runner.ask(sentence)
        return runner.peak()


def report(line):
    print(line, file=sys.stderr, flush=True)


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "model", type=Path, help="a .keras file, or the directory of a training run"
    )
    parser.add_argument("inputs", type=Path, help="file of dev inputs")
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=[*FORMATS])
    parser.add_argument("--limit", type=int, help="number of inputs to use; default: all")
    parser.add_argument("--json", type=Path, help="JSON file for all figures")
    return parser


if __name__ == "__main__":
    sys.exit(main())
