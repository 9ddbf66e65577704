# SPDX-License-Identifier: GPL-2.0-only
"""A laboratory for Linux CPU idle governors: commands as functions, results for data frames and notebooks.

    import idlewise

    result = idlewise.replay("trace.dat", governor=["menu", "teo", "teo-util", "oracle"])
    print(result)                      # as the command prints it
    result.data["traces"][0]           # the JSON, as dictionaries
    result.to_polars()                 # or polars.DataFrame(result), pyarrow.table(result)
    result.plot("front")               # a chart, in notebooks; .save("front.svg")
"""

import atexit
import sys

if sys.version_info < (3, 11):
    # pip refuses it there; this is for what was copied by hand.
    raise ImportError(f"idlewise needs Python 3.11 or later; this is {sys.version.split()[0]}, {sys.executable}")

from . import _idlewise
from ._commands import (
    bisect,
    check,
    compare,
    convert,
    corpus_add,
    corpus_fetch,
    corpus_list,
    corpus_run,
    corpus_scrub,
    corpus_verify,
    counterexample,
    diff,
    explain,
    fitness,
    info,
    replay,
    reproduce,
    review,
    score,
    simulate,
    sweep,
    tape,
)
from ._decisions import Decisions, decisions
from ._governor import Governor
from ._idlewise import Cpu, Inputs, State, __version__
from ._names import governors, platforms
from ._recording import Recording, read
from ._result import Chart, Error, IdlewiseWarning, Result
from ._signals import pelt, walt
from ._tune import Setting, Tuning, tune

atexit.register(_idlewise.ending)

__all__ = [
    "Chart",
    "Cpu",
    "Decisions",
    "Error",
    "Governor",
    "IdlewiseWarning",
    "Inputs",
    "Recording",
    "Result",
    "Setting",
    "State",
    "Tuning",
    "__version__",
    "bisect",
    "check",
    "compare",
    "convert",
    "corpus_add",
    "corpus_fetch",
    "corpus_list",
    "corpus_run",
    "corpus_scrub",
    "corpus_verify",
    "counterexample",
    "decisions",
    "diff",
    "explain",
    "fitness",
    "governors",
    "info",
    "pelt",
    "platforms",
    "read",
    "replay",
    "reproduce",
    "review",
    "score",
    "simulate",
    "sweep",
    "tape",
    "tune",
    "walt",
]
