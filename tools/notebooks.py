#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs notebooks and compares what they show with what is stored in them: notebooks.py [--update] [NOTEBOOK...]

Without NOTEBOOK those of docs/notebooks. --update stores what they show now, where that is not the same. It needs nbclient and
ipykernel, and `idlewise` where Python finds it. Exit status: 0 the same, 1 something differs or a cell failed.
"""

from __future__ import annotations

import concurrent.futures
import copy
import difflib
import os
import pathlib
import re
import sys
import tempfile
from typing import Any

import nbclient
import nbformat

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "docs/notebooks"
TIMEOUT_S = 600
# What is kept of an output. A picture without a text of its own cannot be compared.
KINDS = ("text/html", "image/svg+xml", "text/plain")
MATPLOTLIB = re.compile(r"Matplotlib v([0-9.]+)")


def executed(path: pathlib.Path) -> Any:
    """The notebook with the outputs of a fresh kernel that has no settings of the user's."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"IPYTHONDIR": folder, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        # The kernel starts in another folder.
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        env["PYTHONPATH"] = os.pathsep.join(os.path.abspath(one) for one in paths if one)
        client = nbclient.NotebookClient(
            notebook,
            # The ports are of this machine alone, and a key is asked for: no warning of that.
            extra_arguments=["--log-level=ERROR"],
            timeout=TIMEOUT_S,
            startup_timeout=TIMEOUT_S,
            kernel_name="python3",
            resources={"metadata": {"path": str(path.parent)}},
        )
        client.execute(env=env)
    return plain(notebook)


def plain(notebook: Any) -> Any:
    """The notebook without what differs from run to run: times, places, versions, bars of progress."""
    notebook = copy.deepcopy(notebook)
    notebook.metadata = {k: v for k, v in notebook.metadata.items() if k in ("SPDX-License-Identifier", "kernelspec")}
    notebook.metadata["language_info"] = {"name": "python"}
    count = 0
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number}"
        cell.metadata = {}
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            # A bar of progress, which only a slow machine shows, may lie between two pieces.
            cell.outputs = _joined([o for o in map(_plain_output, _joined(cell.outputs)) if o is not None])
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = count
    return notebook


def _joined(outputs: list[Any]) -> list[Any]:
    """What is printed comes in pieces, as time has it."""
    joined: list[Any] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last is not None and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def _plain_output(output: Any) -> Any:
    if output.output_type == "stream":
        # A warning without the name of the cell's temporary file; a bar of progress is written over itself.
        output.text = re.sub(r"[^\n]*\r", "", output.text)
        output.text = re.sub(r"\S*/ipykernel_\d+/\d+\.py:\d+: ", "", output.text)
        return output if output.text.strip() else None
    if output.output_type in ("display_data", "execute_result"):
        output.metadata = {}
        kept = {kind: output.data[kind] for kind in KINDS if kind in output.data}
        if not kept:
            raise ValueError(f"an output of {', '.join(output.data)}: expected one of {', '.join(KINDS)}")
        if "image/svg+xml" in kept:
            kept["image/svg+xml"] = _plain_svg(kept["image/svg+xml"])
        output.data = nbformat.from_dict(kept)
    return output


def _plain_svg(svg: str) -> str:
    """Matplotlib writes when a chart was drawn, and makes names of places whose last bit differs from machine to machine."""
    version = MATPLOTLIB.search(svg)
    if version is None:
        return svg
    names: dict[str, str] = {}
    svg = re.sub(r"\b[a-z][0-9a-f]{10}\b", lambda found: names.setdefault(found[0], f"{found[0][0]}{len(names) + 1}"), svg)
    return re.sub(r"<metadata>.*?</metadata>", f"<metadata>{version[0]}</metadata>", svg, flags=re.S)


def differences(stored: Any, now: Any) -> list[str]:
    """Lines that differ; charts of another version of matplotlib are not compared."""
    texts = []
    charts = [_matplotlibs(stored), _matplotlibs(now)]
    for notebook in (plain(stored), now):
        if charts[0] != charts[1]:
            notebook = copy.deepcopy(notebook)
            for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
                if MATPLOTLIB.search(output.get("data", {}).get("image/svg+xml", "")):
                    output.data["image/svg+xml"] = "a chart of matplotlib"
        texts.append(nbformat.writes(notebook).splitlines())
    return list(difflib.unified_diff(*texts, "stored", "now", lineterm="", n=1))


def _matplotlibs(notebook: Any) -> set[str]:
    svgs = (o.get("data", {}).get("image/svg+xml", "") for c in notebook.cells for o in c.get("outputs", []))
    return {found[1] for found in map(MATPLOTLIB.search, svgs) if found}


def check(path: pathlib.Path, update: bool = False) -> str:
    """Nothing where the notebook shows what is stored in it, or does so now; else what differs."""
    stored = nbformat.read(path, as_version=4)
    try:
        now = executed(path)
    except nbclient.exceptions.CellExecutionError as error:
        return f"{path}: {error}"
    different = differences(stored, now)
    if different and update:
        nbformat.write(now, path)
        print(f"{path}: written")
        return ""
    return "\n".join([f"{path} shows something else than it did (tools/notebooks.py --update)", *different[:80]]) if different else ""


def main(words: list[str]) -> int:
    update = "--update" in words
    paths = [pathlib.Path(word).resolve() for word in words if word != "--update"] or sorted(FOLDER.glob("*.ipynb"))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        failures = [why for why in pool.map(lambda path: check(path, update), paths) if why]
    print("\n".join(failures) if failures else f"{len(paths)} notebooks show what is stored in them")
    return 1 if failures or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
