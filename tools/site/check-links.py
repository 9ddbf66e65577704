#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks that every link within a built site leads to a file and an anchor of it: check-links.py FOLDER"""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.update(v for k, v in attrs.items() if k in ("id", "name") and v)
        for key in ("href", "src"):
            if attrs.get(key):
                self.links.append(attrs[key])


def main(folder):
    root = pathlib.Path(folder).resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    wrong, seen = [], 0
    for path, page in pages.items():
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            seen += 1
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = urllib.parse.unquote(url.fragment)
            # The switches of the side bar are labels, not places.
            known = target in pages and (anchor in pages[target].anchors or anchor.startswith("__"))
            if not target.exists() or (anchor and target.suffix == ".html" and not known):
                wrong.append(f"{path.relative_to(root)}: {link}")
    print("\n".join(wrong) if wrong else f"{len(pages)} pages, {seen} links within the site, all lead somewhere")
    return 1 if wrong or not pages else 0


sys.exit(main(sys.argv[1]))
