#!/usr/bin/env python3
"""Executes a notebook's cells without Jupyter, and keeps their outputs.

    python tools/run-notebook.py NOTEBOOK           # writes the outputs into the notebook
    python tools/run-notebook.py --check NOTEBOOK   # fails if texts would come out differently

A cell's output is what it prints, and the value of its last line: as HTML, as PNG for figures of
Matplotlib, or else as text. Cells run in a folder of their own, which is removed.
"""

import argparse
import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path


def execute(source, namespace):
    """Runs a cell; returns what it printed and the value of its last line."""
    tree = ast.parse(source)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), namespace)
        value = eval(compile(last, "<cell>", "eval"), namespace) if last else None
    return printed.getvalue(), value


def lines(text):
    return text.splitlines(keepends=True)


def shown(value):
    """The forms of a value, as notebooks keep them."""
    if type(value).__module__.startswith("matplotlib.figure"):
        file = io.BytesIO()
        value.savefig(file, format="png", dpi=80, bbox_inches="tight", metadata={"Software": None})
        png = base64.b64encode(file.getvalue()).decode("ascii")
        return {"image/png": png, "text/plain": ["A figure."]}
    if hasattr(value, "_repr_html_"):
        return {"text/html": lines(value._repr_html_()), "text/plain": ["A table."]}
    return {"text/plain": lines(repr(value))}


def outputs(source, namespace, number):
    """The outputs of a cell, in the notebook's format."""
    printed, value = execute(source, namespace)
    found = []
    if printed:
        found.append({"name": "stdout", "output_type": "stream", "text": lines(printed)})
    if value is not None:
        data = {"data": shown(value), "execution_count": number, "metadata": {}}
        found.append({**data, "output_type": "execute_result"})
    return found


def run(notebook):
    """The notebook with the outputs of its cells."""
    notebook = json.loads(json.dumps(notebook))
    namespace, number = {"__name__": "__main__"}, 0
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    number += 1
                    cell["execution_count"] = number
                    cell["outputs"] = outputs("".join(cell["source"]), namespace, number)
        finally:
            os.chdir(before)
    return notebook


def texts(notebook):
    """What of the outputs is the same on every machine: all but pictures."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    found = [output for cell in cells for output in cell["outputs"]]
    return [
        output.get("text") or {k: v for k, v in output["data"].items() if k != "image/png"}
        for output in found
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing, compare the texts")
    options = parser.parse_args()
    before = json.loads(options.notebook.read_text(encoding="utf-8"))
    after = run(before)
    if options.check:
        if texts(before) != texts(after):
            print(f"error: {options.notebook} shows something else", file=sys.stderr)
            return 1
        return 0
    text = json.dumps(after, indent=1, ensure_ascii=False) + "\n"
    options.notebook.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
