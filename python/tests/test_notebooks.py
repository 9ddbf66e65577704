# SPDX-License-Identifier: GPL-2.0-only
"""Do the notebooks of docs/notebooks show what is stored in them? IDLEWISE_UPDATE_DOCS=1 stores what they show now."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import json
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def setUpModule() -> None:
    for package in ("nbclient", "ipykernel", "polars", "matplotlib", "numpy"):
        if importlib.util.find_spec(package) is None:
            raise unittest.SkipTest(f"the notebooks with {package} (not installed)")
    sys.path.insert(0, str(ROOT / "tools"))


class Notebooks(unittest.TestCase):
    def test_they_show_what_is_stored(self) -> None:
        import notebooks

        self.assertEqual(len(NOTEBOOKS), 3)
        update = "IDLEWISE_UPDATE_DOCS" in os.environ
        with concurrent.futures.ThreadPoolExecutor() as pool:
            failures = [why for why in pool.map(lambda path: notebooks.check(path, update), NOTEBOOKS) if why]
        self.assertEqual("\n".join(failures), "")

    def test_they_are_stored_with_pictures_and_without_what_changes(self) -> None:
        import nbformat
        import notebooks

        for path in NOTEBOOKS:
            stored = nbformat.read(path, as_version=4)
            nbformat.validate(stored)
            self.assertEqual(nbformat.writes(notebooks.plain(stored)) + "\n", path.read_text(), path.name)
            self.assertEqual(stored.metadata["SPDX-License-Identifier"], "GPL-2.0-only")
            outputs = [o for cell in stored.cells for o in cell.get("outputs", [])]
            self.assertGreater(len([o for o in outputs if "image/svg+xml" in o.get("data", {})]), 0, path.name)
            self.assertNotIn("error", [o.output_type for o in outputs])
            for word in (str(ROOT), "/tmp/", "ipykernel"):
                self.assertNotIn(word, path.read_text(), path.name)

    def test_another_number_is_a_difference(self) -> None:
        import nbformat
        import notebooks

        stored = nbformat.read(ROOT / "docs/notebooks/pelt-and-walt.ipynb", as_version=4)
        now = notebooks.plain(stored)
        self.assertEqual(notebooks.differences(stored, now), [])
        text = next(o for cell in now.cells for o in cell.get("outputs", []) if o.output_type == "stream")
        text.text = text.text.replace("146.0", "147.0")
        self.assertEqual([line[0] for line in notebooks.differences(stored, now)[3:]], [" ", "-", "+", " "])
        # A chart of the same matplotlib is compared, one of another is not.
        now = notebooks.plain(stored)
        charts = [o for cell in now.cells for o in cell.get("outputs", []) if "Matplotlib v" in json.dumps(o)]
        self.assertGreater(len(charts), 3)
        charts[0].data["image/svg+xml"] = charts[0].data["image/svg+xml"].replace("<path", "<paths", 1)
        self.assertNotEqual(notebooks.differences(stored, now), [])
        for chart in charts:
            svg = chart.data["image/svg+xml"]
            chart.data["image/svg+xml"] = notebooks.MATPLOTLIB.sub("Matplotlib v0.1", svg)
        self.assertEqual(notebooks.differences(stored, now), [])

    def test_pieces_and_bars_are_made_one_text(self) -> None:
        import nbformat
        import notebooks

        new = nbformat.v4.new_output
        pieces = [
            new("stream", name="stdout", text="a\n"),
            new("stream", name="stdout", text="b\n"),
            new("stream", name="stderr", text="replaying: 50%\r"),
            new("stream", name="stdout", text="c\n"),
            new("stream", name="stderr", text="0it\rsimulating: 10%\r"),
            new("stream", name="stderr", text="/tmp/ipykernel_7/9.py:3: IdlewiseWarning: w\n"),
        ]
        cell = nbformat.v4.new_code_cell("x", outputs=pieces)
        [cell] = notebooks.plain(nbformat.v4.new_notebook(cells=[cell])).cells
        self.assertEqual([o.text for o in cell.outputs], ["a\nb\nc\n", "IdlewiseWarning: w\n"])


if __name__ == "__main__":
    unittest.main()
