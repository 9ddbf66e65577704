#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes what a package says of the libraries that are in the command:

    third-party.py TARGET COPYRIGHT NOTICES

They are the crates that are linked into it, and what web/dist/ has for the report page and the charts. COPYRIGHT is Debian's
machine-readable file; NOTICES has their own notices in full. Where a crate offers a choice, a licence that agrees with the GPL,
version 2, is taken: MIT first. A library without such a licence is an error, and nothing is written.
"""

import json
import pathlib
import re
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
# What agrees with the GPL, version 2, and no other version of it (https://www.gnu.org/licenses/license-list.html). The Apache licence
# does not; whether it does with LLVM's exception is disputed.
COMPATIBLE = ["MIT", "0BSD", "BSD-3-Clause", "BSD-2-Clause", "ISC", "Zlib", "BSL-1.0", "Unicode-3.0"]
# Names of Debian's format.
NAMES = {"MIT": "Expat", "BSD-3-Clause": "BSD-3-clause", "BSD-2-Clause": "BSD-2-clause"}
# Words by which a licence's own text is known.
MARKS = {
    "MIT": "Permission is hereby granted, free of charge",
    "0BSD": "for any purpose with or without fee",
    "BSD-3-Clause": "Redistribution and use in source and binary forms",
    "BSD-2-Clause": "Redistribution and use in source and binary forms",
    "ISC": "for any purpose with or without fee",
    "Zlib": "any express or implied warranty. In no event",
    "BSL-1.0": "Boost Software License",
    "Unicode-3.0": "UNICODE LICENSE V3",
}
GPL = """This program is free software; you can redistribute it and/or modify it under the terms of the GNU General Public
License, version 2, as published by the Free Software Foundation. It comes without any warranty.

On Debian systems the text of this licence is in /usr/share/common-licenses/GPL-2."""


def linked(target):
    """Names and versions of the crates in the command, without those of its build and its tests."""
    tree = ["cargo", "tree", "--locked", "-p", "idlewise-cli", "-e", "normal,no-proc-macro", "--target", target, "--prefix", "none"]
    lines = subprocess.run([*tree, "--format", "{p}"], check=True, capture_output=True, text=True).stdout.splitlines()
    return {tuple(line.split(" v", 1)) for line in (re.sub(r" \(.*", "", line) for line in lines)}


def chosen(name, expression):
    """The licences that are taken of those that a library is under: all of "A AND B", one of "A OR B"."""
    taken = []
    for part in re.split(r"\s+AND\s+", expression or "no licence"):
        offered = re.split(r"\s+OR\s+|/", part.strip("() "))
        agreeing = [licence for licence in COMPATIBLE if licence in offered]
        if not agreeing:
            sys.exit(f"third-party.py: {name} is under {expression}: {part} does not agree with the GPL, version 2")
        taken.append(agreeing[0])
    return taken


class Library:
    """What a package says of one library: its files, its licences, those who hold the copyright, its notices."""

    def __init__(self, name, files, licences, holders, texts):
        self.name, self.files, self.licences, self.holders, self.texts = name, files, licences, holders, texts


def is_text_of(text, licence):
    return MARKS[licence].lower() in " ".join(text.split()).lower()


def notices(folder, licences):
    """The texts in a crate that hold its notices: of the licences that are taken, if they can be distinguished."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and re.match(r"(?i)(licen[cs]e|copying)", p.name)]
    files = [p for p in files if p.suffix.lower() not in (".rs", ".html", ".json", ".toml", ".py")]
    texts = [p.read_text(encoding="utf-8", errors="replace").strip() for p in files]
    wanted = [text for text in texts if any(is_text_of(text, licence) for licence in licences)]
    return wanted or texts


def holders(texts):
    lines = {line.strip(" .*") for text in texts for line in text.splitlines() if re.match(r"(?i)\s*copyright\s+(\(c\)|©|\d)", line)}
    lines = sorted(re.sub(r"(?i)^copyright\s+(\(c\)\s*|©\s*)?", "", line) for line in lines)
    return [line for line in lines if line]


def crates(target):
    wanted = linked(target)
    meta = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked"], check=True, capture_output=True, text=True)
    found = [c for c in json.loads(meta.stdout)["packages"] if c["source"] and (c["name"], c["version"]) in wanted]
    assert found, "no crates: is this the project's folder?"
    for crate in sorted(found, key=lambda c: (c["name"], c["version"])):
        name = f"{crate['name']} {crate['version']}"
        licences = chosen(name, crate["license"])
        texts = notices(pathlib.Path(crate["manifest_path"]).parent, licences)
        named = holders(texts) or crate["authors"] or [f"the authors of {crate['name']}"]
        yield Library(name, f"crates/{crate['name']}-{crate['version']}/*", licences, named, texts)


def bundled():
    """The libraries of the report page: web/dist/LICENSES.txt has "NAME VERSION (LICENCE)" lines, then their common notice."""
    parts = (TREE / "web/dist/LICENSES.txt").read_text(encoding="utf-8").split(f"\n{'-' * 80}\n")
    for part in parts:
        names, text = part.strip().split("\n\n", 1)
        for name, licence in re.findall(r"^(\S+ \S+) \((.*)\)$", names, re.MULTILINE):
            licences = chosen(name, licence)
            named = holders([text]) or [f"the authors of {name.split()[0]}"]
            yield Library(name, f"web/{name.replace(' ', '-')}/*", licences, named, [text])


def without_holders(text):
    """The text of a licence, which is the same for all libraries, without those who give it."""
    return "\n".join(line for line in text.splitlines() if not re.match(r"(?i)\s*copyright\s+(\(c\)|©|\d)", line)).strip()


def indented(text):
    return "\n".join(" " + line.rstrip() if line.strip() else " ." for line in text.strip().splitlines())


def main(target, copyright_file, notices_file):
    libraries = [*crates(target), *bundled()]
    texts, users, files = {}, {}, []
    for library in libraries:
        for text in library.texts:
            users.setdefault(text, []).append(library.name)
        for licence in library.licences:
            of_it = [text for text in library.texts if is_text_of(text, licence)]
            if of_it:
                texts[licence] = min([*of_it, texts.get(licence, of_it[0])], key=len)
        debian = " and ".join(NAMES.get(name, name) for name in library.licences)
        lines = "\n           ".join(library.holders)
        files.append(f"Files: {library.files}\nCopyright: {lines}\nLicense: {debian}\n")

    # Some leave their notice in their repository: the text of the licence, with those that they name.
    for library in libraries:
        if not library.texts:
            bodies = [without_holders(texts[licence]) for licence in library.licences]
            named = "\n".join(f"Copyright {name}" for name in library.holders)
            users.setdefault("\n\n".join([named, *bodies]), []).append(library.name)

    taken = sorted({licence for library in libraries for licence in library.licences})
    with open(copyright_file, "w", encoding="utf-8") as out:
        out.write("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: idlewise\n")
        out.write("Comment: The paragraphs with crates/ are of the libraries that are linked into the command, by crate;\n")
        out.write(" those with web/ are of the libraries in its report page and charts, by npm's package.\n")
        out.write(" Their own notices are in full in third-party-notices.txt.gz.\n\n")
        out.write("Files: *\nCopyright: the authors of idlewise\nLicense: GPL-2.0-only\n\n")
        out.write("\n".join(files))
        out.write(f"\nLicense: GPL-2.0-only\n{indented(GPL)}\n")
        for name in taken:
            out.write(f"\nLicense: {NAMES.get(name, name)}\n{indented(without_holders(texts[name]))}\n")
    with open(notices_file, "w", encoding="utf-8") as out:
        out.write("Notices of the libraries that are in idlewise.\n")
        for text, names in sorted(users.items(), key=lambda item: item[1]):
            out.write(f"\n{'=' * 80}\n{', '.join(names)}\n{'-' * 80}\n{text}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
