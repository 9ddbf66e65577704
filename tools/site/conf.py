# SPDX-License-Identifier: GPL-2.0-only
"""Sphinx reads this: tools/site.sh copies the pages to a folder of their own and builds the site there."""

import os
import re

from docutils import nodes

project = "idlewise"
copyright = "the authors of idlewise, GPL-2.0-only"
release = version = os.environ["IDLEWISE_VERSION"]

extensions = ["myst_nb"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
# Notebooks are shown as they are stored; tests run them.
nb_execution_mode = "off"
root_doc = "index"
nitpicky = True
# A page that no section of the index names is reached by its links.
suppress_warnings = ["toc.not_included"]
exclude_patterns = ["LICENSE"]

# The anchors of headings are those of a git forge.
myst_heading_anchors = 4
myst_enable_extensions = []
# Outputs of commands are no language.
highlight_language = "none"
pygments_style = "friendly"
pygments_dark_style = "github-dark"

html_theme = "furo"
html_title = f"idlewise {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}


def navigation(index):
    """The sections of docs/README.md with the pages of their tables, as trees for the side bar."""
    trees = []
    for section in re.split(r"^## ", index, flags=re.M)[1:]:
        title, body = section.split("\n", 1)
        pages = []
        for link in re.findall(r"\]\(([^)#]+)\.(?:md|ipynb)\)", body):
            page = os.path.normpath(os.path.join("docs", link))
            if page not in pages and page != "docs/README":
                pages.append(page)
        if pages:
            caption = title.split(":")[0].strip()
            trees.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n")
    trees.append(
        "```{toctree}\n:hidden:\n:caption: Project\n\ndocs/README\nCHANGELOG\nARCHITECTURE\nCONTRIBUTING\n```\n"
    )
    return "\n".join(trees)


def with_navigation(app, docname, source):
    if docname == root_doc:
        with open(os.path.join(app.srcdir, "docs", "README.md"), encoding="utf-8") as file:
            source[0] += "\n" + navigation(file.read())


def mark_commands(app, doctree):
    """Commands wrap, so that no option is out of sight; outputs scroll."""
    for block in doctree.findall(nodes.literal_block):
        if block.astext().startswith(("$ ", "# idlewise ")):
            block["classes"].append("command")


def setup(app):
    app.connect("doctree-read", mark_commands)
    app.connect("source-read", with_navigation)
