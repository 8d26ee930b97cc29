"""Almost all models of `keras_export_matrix` become files with the same outputs as Keras."""

import re
import subprocess
import sys

import keras_export_matrix
import pytest

ROWS = {"litert": keras_export_matrix.all_rows(), "onnx": keras_export_matrix.onnx_rows()}


@pytest.mark.parametrize("form", ROWS)
def test_the_matrix_has_many_models(form):
    refused = [name for name, row in ROWS[form].items() if row.refused]
    assert len(ROWS[form]) >= 80 and len(refused) <= 0.05 * len(ROWS[form])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("form", "name"), [(form, name) for form in ROWS for name in ROWS[form]])
def test_a_model_becomes_a_file_equal_to_keras_or_an_error_with_its_remedy(form, name):
    row = ROWS[form][name]
    outcome = keras_export_matrix.try_row(name, row, form=form)
    assert outcome.exported == (not row.refused), outcome.error
    if row.refused:
        assert re.search(rf"\. {re.escape(row.refused)}", outcome.error)
        assert "\n" not in outcome.error
    elif "quantization" not in row.settings:
        assert outcome.difference <= 1e-5
    else:
        assert outcome.difference <= 0.2


def test_a_runner_of_arrays_loads_neither_keras_nor_tensorflow():
    program = (
        "import sys, keras_bahdanau.runners as runners; runners.ArrayModel; "
        "print(*sorted({'keras', 'tensorflow'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (answer.returncode, answer.stdout.strip()) == (0, ""), answer.stderr
