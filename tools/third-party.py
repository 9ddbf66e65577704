#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes what a package says of the crates that are linked into the command:

    third-party.py TARGET COPYRIGHT NOTICES

COPYRIGHT is Debian's machine-readable file; NOTICES has the crates' own notices in full. Where a crate offers a choice,
the licence that agrees with the GPL, version 2, is taken: MIT first.
"""

import json
import pathlib
import re
import subprocess
import sys

PREFERRED = ["MIT", "0BSD", "BSD-3-Clause", "ISC", "Zlib", "BSL-1.0", "Unicode-3.0", "Apache-2.0"]
# Names of Debian's format.
NAMES = {"MIT": "Expat", "BSD-3-Clause": "BSD-3-clause"}
# Words by which a licence's own text is known.
MARKS = {
    "MIT": "Permission is hereby granted, free of charge",
    "0BSD": "for any purpose with or without fee",
    "BSD-3-Clause": "Redistribution and use in source and binary forms",
    "ISC": "for any purpose with or without fee",
    "Zlib": "any express or implied warranty. In no event",
    "BSL-1.0": "Boost Software License",
    "Unicode-3.0": "UNICODE LICENSE V3",
    "Apache-2.0": "Apache License",
}
APACHE = "On Debian systems the text of this licence is in /usr/share/common-licenses/Apache-2.0."
GPL = """This program is free software; you can redistribute it and/or modify it under the terms of the GNU General Public
License, version 2, as published by the Free Software Foundation. It comes without any warranty.

On Debian systems the text of this licence is in /usr/share/common-licenses/GPL-2."""


def linked(target):
    """Names and versions of the crates in the command, without those of its build and its tests."""
    tree = ["cargo", "tree", "--locked", "-p", "idlewise-cli", "-e", "normal", "--target", target, "--prefix", "none"]
    lines = subprocess.run([*tree, "--format", "{p}"], check=True, capture_output=True, text=True).stdout.splitlines()
    return {tuple(line.split(" v", 1)) for line in (re.sub(r" \(.*", "", line) for line in lines)}


def chosen(expression):
    """The licences of an expression that are taken: all of "A AND B", one of "A OR B"."""
    taken = []
    for part in re.split(r"\s+AND\s+", expression):
        offered = re.split(r"\s+OR\s+|/", part.strip("() "))
        taken.append(min(offered, key=lambda name: PREFERRED.index(name) if name in PREFERRED else len(PREFERRED)))
    return taken


def is_text_of(text, licence):
    return MARKS[licence].lower() in " ".join(text.split()).lower()


def notices(folder, licences):
    """The texts in a crate that hold its notices: of the licences that are taken, if they can be distinguished."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and re.match(r"(?i)(licen[cs]e|copying)", p.name)]
    files = [p for p in files if p.suffix.lower() not in (".rs", ".html", ".json", ".toml", ".py")]
    texts = [p.read_text(encoding="utf-8", errors="replace").strip() for p in files]
    wanted = [text for text in texts if any(is_text_of(text, licence) for licence in licences)]
    return wanted or texts


def holders(texts, crate):
    lines = {line.strip(" .*") for text in texts for line in text.splitlines() if re.match(r"(?i)\s*copyright\s+(\(c\)|©|\d)", line)}
    lines = sorted(re.sub(r"(?i)^copyright\s+(\(c\)\s*|©\s*)?", "", line) for line in lines)
    return [line for line in lines if line] or crate["authors"] or [f"the authors of {crate['name']}"]


def indented(text):
    return "\n".join(" " + line.rstrip() if line.strip() else " ." for line in text.strip().splitlines())


def main(target, copyright_file, notices_file):
    wanted = linked(target)
    meta = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked"], check=True, capture_output=True, text=True)
    crates = [c for c in json.loads(meta.stdout)["packages"] if c["source"] and (c["name"], c["version"]) in wanted]
    crates.sort(key=lambda c: (c["name"], c["version"]))
    assert crates, "no crates: is this the project's folder?"

    texts, users, files = {}, {}, []
    for crate in crates:
        name = f"{crate['name']} {crate['version']}"
        licences = chosen(crate["license"])
        found = notices(pathlib.Path(crate["manifest_path"]).parent, licences)
        for text in found:
            users.setdefault(text, []).append(name)
        for licence in licences:
            of_it = [text for text in found if is_text_of(text, licence)]
            if of_it:
                texts[licence] = min([*of_it, texts.get(licence, of_it[0])], key=len)
        debian = " and ".join(NAMES.get(name, name) for name in licences)
        lines = "\n           ".join(holders(found, crate))
        files.append(f"Files: crates/{crate['name']}-{crate['version']}/*\nCopyright: {lines}\nLicense: {debian}\n")

    taken = sorted({name for crate in crates for name in chosen(crate["license"])})
    body = {"Apache-2.0": APACHE}
    with open(copyright_file, "w", encoding="utf-8") as out:
        out.write("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: idlewise\n")
        out.write("Comment: The paragraphs with crates/ are of the libraries that are linked into the command, by crate.\n")
        out.write(" Their own notices are in full in third-party-notices.txt.gz.\n\n")
        out.write("Files: *\nCopyright: the authors of idlewise\nLicense: GPL-2.0-only\n\n")
        out.write("\n".join(files))
        out.write(f"\nLicense: GPL-2.0-only\n{indented(GPL)}\n")
        for name in taken:
            text = body.get(name, texts.get(name, "See third-party-notices.txt.gz."))
            # The permission is the same for all; who gives it stands above.
            text = "\n".join(line for line in text.splitlines() if not re.match(r"(?i)\s*copyright\s+(\(c\)|©|\d)", line))
            out.write(f"\nLicense: {NAMES.get(name, name)}\n{indented(text)}\n")
    with open(notices_file, "w", encoding="utf-8") as out:
        out.write("Notices of the libraries that are linked into idlewise.\n")
        for text, names in sorted(users.items(), key=lambda item: item[1]):
            out.write(f"\n{'=' * 80}\n{', '.join(names)}\n{'-' * 80}\n{text}\n")


main(*sys.argv[1:])
