"""Run a notebook in a kernel: `run_notebook.py NOTEBOOK FOLDER [RESULT]`.

The script prints the output of the cells, and `<picture>` for each image that they display. It
stops at the first cell that fails. The notebook with its outputs is saved as RESULT.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def main(path, folder, result=None):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    client = NotebookClient(notebook, timeout=3600, resources={"metadata": {"path": folder}})
    client.on_cell_executed = _show
    try:
        client.execute()
    finally:
        if result:
            nbformat.write(notebook, result)


def _show(cell, cell_index, execute_reply):
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            print(output.text, end="", flush=True)
        elif "image/png" in output.get("data", ()):
            print("<picture>", flush=True)


if __name__ == "__main__":
    main(*(str(Path(argument).resolve()) for argument in sys.argv[1:]))
