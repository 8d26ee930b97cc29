"""The README's Spark program, unchanged, in a local Spark with two Python processes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from keras_bahdanau.runners.offline import BatchTranslator

ROOT = Path(__file__).parents[2]
README = ROOT / "export" / "offline" / "README.md"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="needs a Java runtime")
def test_the_program_of_the_readme_translates_a_table(toy_translator, tmp_path):
    pytest.importorskip("pyspark", reason="needs pyspark, which is 456 MB")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow, of the extra offline")
    import pyarrow

    (program,) = re.findall(r"```python\n(.*?pyspark.*?)```", README.read_text(), re.DOTALL)
    run, corpus = tmp_path / "runs" / "en-de", tmp_path / "corpus"
    run.mkdir(parents=True)
    corpus.mkdir()
    toy_translator.save(run / "translator.keras")
    texts = ["three one two", None, "five", "", "one one four"] * 20
    for part in range(2):
        table = pyarrow.table({"id": [*range(part, 100, 2)], "text": texts[part::2]})
        parquet.write_table(table, corpus / f"{part}.parquet")

    variables = {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "translated" / "_SUCCESS").exists()
    rows = parquet.read_table(tmp_path / "translated").to_pylist()
    assert sorted(row["id"] for row in rows) == [*range(100)]
    expected = BatchTranslator(run, beam_width=1)({"text": texts})
    for row in rows:
        assert row["text"] == texts[row["id"]]
        assert row["translation"] == expected["translation"][row["id"]]
        if row["text"] is None:
            assert row["score"] is None and row["confidence"] is None
        else:
            assert row["score"] == pytest.approx(expected["score"][row["id"]], abs=1e-4)
            assert 0 < row["confidence"] <= 1
