# SPDX-License-Identifier: GPL-2.0-only
"""Results of commands: text, data, tables, charts."""

from __future__ import annotations

import html
import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ._sensitivity import sensitivity

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._idlewise import Outcome


class Error(Exception):
    """A command was not done. The text is that of the command; `result` is what it had finished, or None."""

    def __init__(self, why: str, result: Result | None = None) -> None:
        super().__init__(why)
        self.result = result


class IdlewiseWarning(UserWarning):
    """What a command warns of."""


class Chart:
    """A chart of a result. Notebooks show it; `save` writes it."""

    def __init__(self, name: str, outcome: Outcome) -> None:
        self.name = name
        self._outcome = outcome
        self.svg: str = outcome.svg(name)

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Writes a file, SVG. An existing file is an error, or replaced with `overwrite`."""
        if os.path.splitext(os.fspath(path))[1].lower() != ".svg":
            raise ValueError(f"{os.fspath(path)}: charts are SVG: end the name with .svg")
        _write(path, self.svg.encode(), overwrite)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<chart {self.name}>"


class Result:
    """What a command came to.

    `str()` is its text, `data` its JSON as dictionaries and lists, `json` the same bytes as the command's --format json.
    The table of the result goes out by the Arrow PyCapsule interface: polars.DataFrame(result), pyarrow.table(result).
    """

    def __init__(self, command: str, outcome: Outcome) -> None:
        self.command = command
        self._outcome = outcome

    def __reduce__(self) -> Any:
        raise TypeError(f"a result of {self.command} cannot go to another process; send its `json`, `to_arrow()` or `to_polars()`")

    @property
    def same(self) -> bool:
        """Whether a comparison found no difference (`compare` with fail_if), and a check no violation."""
        return self._outcome.same

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the command warned of."""
        return tuple(self._outcome.warnings)

    @property
    def said(self) -> str:
        """What the command prints besides a result, such as the size of a tape."""
        return self._outcome.said

    @property
    def json(self) -> str:
        """The result as JSON (docs/reference/json.md)."""
        if self._outcome.json is None:
            raise ValueError(f"{self.command} has no result but the file that it wrote")
        return self._outcome.json

    @cached_property
    def data(self) -> Any:
        """The result as dictionaries, lists and numbers."""
        return json.loads(self.json)

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    @property
    def text(self) -> str:
        """As the command prints it."""
        if self._outcome.json is None:
            return self.said
        return self._outcome.encode("table").decode()

    @property
    def details(self) -> str:
        """Everything that the command can print of it, as --details does."""
        return self._outcome.details()

    @property
    def markdown(self) -> str:
        """For an issue or a page."""
        return self._outcome.encode("markdown").decode()

    @property
    def csv(self) -> str:
        """The table (docs/reference/data-tables.md)."""
        return self._outcome.encode("csv").decode()

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Writes a file; .json, .csv, .parquet, .arrow, .md, .txt and .html (a page with charts) by its ending. An existing file is
        an error, or replaced with `overwrite`."""
        end = os.path.splitext(os.fspath(path))[1].lower()
        forms = {
            ".json": "json",
            ".csv": "csv",
            ".parquet": "parquet",
            ".arrow": "arrow",
            ".feather": "arrow",
            ".md": "markdown",
            ".txt": "table",
        }
        if end == ".html":
            _write(path, self._outcome.page().encode(), overwrite)
        elif end in forms:
            _write(path, self._outcome.encode(forms[end]), overwrite)
        else:
            raise ValueError(f"{os.fspath(path)}: end the name with .html or one of {', '.join(forms)}")

    def plot(self, chart: str) -> Chart:
        """A chart of the report page: measures, front, misses, residency, timeline, ... (docs/guide/pages-and-charts.md)."""
        return Chart(chart, self._outcome)

    def sensitivity(
        self, measure: str = "energy", governor: str | None = None, seed: int = 0
    ) -> list[dict[str, Any]]:
        """How much each parameter of a sweep moves a measure.

        A list, the parameter that matters most first: `parameter`; `s1`, the first-order Sobol index, with `s1_half_width` of
        its 95 % interval. Of all combinations it is exact; of drawn settings (sample=200) it is estimated, which needs SALib.
        """
        return sensitivity(self.data, measure, governor, seed)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._outcome.arrow_stream()

    def to_arrow(self) -> pyarrow.Table:
        """The table for pyarrow, which must be installed."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """The table for polars, which must be installed."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The table for pandas, which must be installed, with pyarrow."""
        return self.to_arrow().to_pandas()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<result of {self.command}>"

    def _repr_html_(self) -> str:
        out = f"<pre>{html.escape(self.text)}</pre>"
        for chart in ("measures", "published"):
            try:
                return self.plot(chart).svg + out
            except ValueError:
                continue
        return out


def _write(path: str | os.PathLike[str], data: bytes, overwrite: bool) -> None:
    """Writes a file whole or not at all."""
    written = f"{os.fspath(path)}.{os.getpid()}.part" if overwrite else os.fspath(path)
    try:
        file = open(written, "xb")
    except FileExistsError:
        raise FileExistsError(f"{written} is there already; overwrite=True replaces it") from None
    try:
        with file:
            file.write(data)
        if overwrite:
            os.replace(written, path)
    except BaseException:
        os.unlink(written)
        raise
