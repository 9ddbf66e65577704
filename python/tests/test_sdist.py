# SPDX-License-Identifier: GPL-2.0-only
"""Has the source distribution what its build reads, the licence, and nothing that is not needed?"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import sdist  # noqa: E402


class Distribution(unittest.TestCase):
    folder: pathlib.Path
    archive: pathlib.Path
    top: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.archive = sdist.pack(cls.folder / "to")
        subprocess.run(["tar", "-xf", cls.archive, "-C", cls.folder], check=True)
        [cls.top] = [path for path in cls.folder.iterdir() if path.name.startswith("idlewise-")]

    def test_it_has_what_is_needed_and_nothing_else(self) -> None:
        files = {str(path.relative_to(self.top)) for path in self.top.rglob("*") if path.is_file()}
        for file in ("PKG-INFO", "pyproject.toml", "LICENSE", "Cargo.lock", "python/idlewise/py.typed", "governors/teo.c"):
            self.assertIn(file, files)
        folders = {file.split("/")[0] for file in files if "/" in file}
        self.assertEqual(
            folders,
            {"crates", "experiments", "governors", "kernel", "platforms", "python", "signals", "tools", "web", "workloads"},
        )
        self.assertEqual([f for f in files if f.endswith((".tape", ".dat", ".data", ".ipynb", ".md", ".pyc", ".o"))], ["python/README.md"])
        self.assertEqual([f for f in files if re.search(r"(^|/)(tests|benches|target)/", f)], [])
        self.assertLess(self.archive.stat().st_size, 5_000_000)
        # All that ships is there.
        for folder, ending in (("governors", ""), ("platforms", ".toml"), ("workloads", ".json"), ("experiments", ".toml")):
            there = {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob(f"*{ending}") if path.is_file()}
            self.assertEqual(there - files, set())

    def test_it_names_its_licence_python_and_version(self) -> None:
        about = (self.top / "PKG-INFO").read_text()
        version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
        for line in (f"Version: {version}", "License-Expression: GPL-2.0-only", "License-File: LICENSE", "Requires-Python: >=3.11"):
            self.assertIn(f"\n{line}\n", about)
        project = tomllib.loads((self.top / "pyproject.toml").read_text())
        for path in (project["project"]["readme"], project["tool"]["maturin"]["manifest-path"], project["tool"]["maturin"]["python-source"]):
            self.assertTrue((self.top / path).exists(), path)

    def test_the_same_sources_give_the_same_bytes(self) -> None:
        self.assertEqual(sdist.pack(self.folder / "again").read_bytes(), self.archive.read_bytes())

    def test_cargo_finds_the_whole_workspace_in_it(self) -> None:
        if shutil.which("cargo") is None:
            raise unittest.SkipTest("the source distribution with cargo (not installed)")
        # In a workspace around it, cargo would take that.
        asked = ("cargo", "metadata", "--locked", "--offline", "--no-deps", "--format-version", "1")
        found = subprocess.run(asked, cwd=self.top, capture_output=True, text=True, check=False)
        self.assertEqual(found.returncode, 0, found.stderr)
        packages = {package["name"]: package for package in json.loads(found.stdout)["packages"]}
        self.assertEqual(len(packages), len(list((ROOT / "crates").glob("*/Cargo.toml"))))
        kinds = {kind for package in packages.values() for target in package["targets"] for kind in target["kind"]}
        self.assertEqual(kinds - {"lib", "cdylib", "bin", "example", "custom-build"}, set())
        for package in packages.values():
            for target in package["targets"]:
                self.assertTrue(pathlib.Path(target["src_path"]).is_file(), target["src_path"])


if __name__ == "__main__":
    unittest.main()
