# SPDX-License-Identifier: GPL-2.0-only
"""Programs that tests start."""

from __future__ import annotations

import signal
import subprocess
import sys
import unittest


def interruptible(test: unittest.TestCase, code: str) -> subprocess.Popen[str]:
    """Python that runs `code`, hears of Ctrl-C, and is gone when the test is over."""
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A job in the background of a shell ignores it, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    test.addCleanup(child.kill)
    return child
