#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Packs what the Python package is built from, a source distribution: sdist.py FOLDER

FOLDER/idlewise-VERSION.tar.gz has all that its build reads and nothing else: no tests, no recordings, no pages but those of the
package. The same sources give the same bytes.
"""

from __future__ import annotations

import gzip
import io
import os
import pathlib
import re
import sys
import tarfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
# What the workspace is built from, and what build scripts of its crates read.
FILES = ("Cargo.toml", "Cargo.lock", "LICENSE", "clippy.toml", "tools/embed.rs", "python/README.md")
FOLDERS = {
    "crates": None,
    "python/idlewise": (".py", ".pyi", ".typed"),
    "governors": None,
    "signals": (".c", ".h"),
    "platforms": (".toml",),
    "workloads": (".json",),
    "experiments": (".toml",),
    "kernel": None,
    "web/dist": None,
}
# Of crates; their Cargo.toml says no more of these.
LEFT_OUT = ("tests", "benches", "target", "__pycache__")
TARGETS = re.compile(r"^\[\[(?:test|bench)\]\]\n(?:(?!\[).*\n)*", re.M)


def sources() -> list[pathlib.Path]:
    """Of the repository, from its root."""
    found = [pathlib.Path(name) for name in FILES]
    for folder, endings in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*")):
            inside = path.relative_to(ROOT)
            # Also a file called tests.rs is a module of a test.
            is_left_out = any(part in LEFT_OUT for part in inside.parts[1:])
            is_wanted = endings is None or path.suffix in endings or path.name == "py.typed"
            if path.is_file() and is_wanted and not is_left_out and not _is_built(inside):
                found.append(inside)
    return sorted(found)


def _is_built(path: pathlib.Path) -> bool:
    """What the kernel's build leaves next to its modules (.gitignore)."""
    return path.parts[:2] == ("kernel", "modules") and (
        path.name.startswith(".") or path.suffix in (".ko", ".mod", ".o", ".symvers", ".order") or path.name.endswith(".mod.c")
    )


def project() -> tuple[str, str]:
    """pyproject.toml of the distribution, whose root is that of the repository; and PKG-INFO."""
    text = (ROOT / "python/pyproject.toml").read_text()
    for before, after in (
        ('readme = "README.md"', 'readme = "python/README.md"\nlicense-files = ["LICENSE"]'),
        ('manifest-path = "../crates/python/Cargo.toml"', 'manifest-path = "crates/python/Cargo.toml"'),
        ('python-source = "."', 'python-source = "python"'),
    ):
        if text.count(before) != 1:
            raise ValueError(f"python/pyproject.toml: expected one line {before}")
        text = text.replace(before, after)
    about = tomllib.loads(text)["project"]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {about['name']}",
        f"Version: {version}",
        f"Summary: {about['description']}",
        f"License-Expression: {about['license']}",
        "License-File: LICENSE",
        f"Requires-Python: {about['requires-python']}",
    ]
    for extra, packages in about["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {package} ; extra == '{extra}'" for package in packages]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / "python/README.md").read_text()]
    return text, "\n".join(lines)


def contents() -> dict[str, bytes]:
    """The files of the distribution."""
    pyproject, about = project()
    packed = {"pyproject.toml": pyproject.encode(), "PKG-INFO": about.encode()}
    for path in sources():
        data = (ROOT / path).read_bytes()
        if path.name == "Cargo.toml" and path.parts[0] == "crates":
            data = TARGETS.sub("", data.decode()).encode()
        packed[str(path)] = data
    return packed


def pack(folder: pathlib.Path) -> pathlib.Path:
    packed = contents()
    version = re.search(r"^Version: (.*)$", packed["PKG-INFO"].decode(), re.M)
    assert version is not None, "PKG-INFO has a version"
    name = f"idlewise-{version[1]}"
    when = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, data in sorted(packed.items()):
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mtime, entry.mode = len(data), when, 0o644
            tar.addfile(entry, io.BytesIO(data))
    folder.mkdir(parents=True, exist_ok=True)
    to = folder / f"{name}.tar.gz"
    with open(to, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=when) as zipped:
        zipped.write(archive.getvalue())
    return to


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: sdist.py FOLDER")
    made = pack(pathlib.Path(sys.argv[1]))
    print(f"{made}: {made.stat().st_size} bytes, {len(contents())} files")
