# SPDX-License-Identifier: GPL-2.0-only
"""Does the package do what the command does, and fit into Python? IDLEWISE names the command."""

from __future__ import annotations

import array
import contextlib
import importlib.util
import inspect
import io
import itertools
import json
import os
import pathlib
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from collections.abc import Callable

import idlewise
from children import interruptible

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = str(ROOT / "tests/data/sleeploop.dat")
MS = 1_000_000


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([os.environ["IDLEWISE"], *words], capture_output=True, text=True, check=False)


def without(name: str) -> unittest.TestCase | None:
    """Skips a test where another project's package is missing."""
    if importlib.util.find_spec(name) is None:
        raise unittest.SkipTest(f"comparisons with {name} (not installed)")
    return None


class Sweeps(unittest.TestCase):
    def test_a_sweep_is_that_of_the_command(self) -> None:
        result = idlewise.sweep(TRACE, governor="teo:decay_shift=2..3", platform="pixel6")
        words = ("sweep", TRACE, "--governor", "teo:decay_shift=2..3", "--platform", "pixel6")
        self.assertEqual(result.json, command(*words, "--format", "json").stdout)
        self.assertEqual(result.sensitivity(), [{"parameter": "decay_shift", "s1": 1.0, "s1_half_width": 0.0}])
        with self.assertRaisesRegex(ValueError, "of a sweep"):
            idlewise.info(TRACE).sensitivity()

    def sensitivity(self, points: list[tuple[int, ...]], mean: Callable[..., float]) -> dict[str, tuple[float, float]]:
        """The index and half width of each parameter p0, p1, ... of a made sweep."""
        settings = [
            {
                "governor": "teo",
                "parameters": {"fixed": "1", **{f"p{n}": str(v) for n, v in enumerate(point)}},
                "changes": [{"measure": "energy", "mean": mean(*point)}],
            }
            for point in points
        ]
        report = {"schema": "idlewise.sweep/1", "governors": [{"governor": "teo"}], "settings": [{}, *settings]}
        rows = idlewise._sensitivity.sensitivity(report)
        self.assertEqual(rows, sorted(rows, key=lambda row: -row["s1"]))
        return {row["parameter"]: (row["s1"], row["s1_half_width"]) for row in rows}

    def test_sensitivity_of_all_combinations_is_exact(self) -> None:
        grid = list(itertools.product((0, 1_000_000), range(4, 13), (3, 9)))
        found = self.sensitivity(grid, lambda _, intervals, decay: intervals + 100.0 * decay)
        # By the variances of independent parameters: of 9 values one apart, and of two that are 600 apart.
        whole = 80 / 12 + 300.0**2
        self.assertEqual(found["p0"], (0.0, 0.0))
        self.assertAlmostEqual(found["p1"][0], 80 / 12 / whole)
        self.assertAlmostEqual(found["p2"][0], 300.0**2 / whole)

    def test_sensitivity_of_drawn_settings_names_the_parameter_that_matters(self) -> None:
        without("SALib")
        drawn = random.Random(1)
        points = [(drawn.randrange(100), drawn.randrange(100)) for _ in range(200)]
        found = self.sensitivity(points, lambda strong, weak: 3.0 * strong + 0.1 * weak)
        self.assertGreater(found["p0"][0], 0.8)
        self.assertLess(found["p1"][0], 0.2)
        # Few values, in an order that repeats: nearly all by p0, none by p1.
        points = [(n % 2, n // 2 % 3, drawn.randrange(1000)) for n in range(240)]
        found = self.sensitivity(points, lambda strong, _none, noise: 600.0 * strong + 0.2 * noise)
        whole = 300.0**2 + 0.04 * (1000.0**2 - 1) / 12
        for name, truth in (("p0", 300.0**2 / whole), ("p1", 0.0)):
            s1, half = found[name]
            self.assertLess(abs(s1 - truth), max(2.0 * half, 0.01), name)
            self.assertGreater(half, 0.0)
        with self.assertRaisesRegex(ValueError, "20 settings, not all combinations .* at least 64"):
            self.sensitivity(points[:20], lambda strong, _none, noise: strong + noise)


def run_by_itself(text: str) -> subprocess.CompletedProcess[str]:
    """A program of its own, which must end within a minute."""
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)


class Processes(unittest.TestCase):
    def test_a_forked_process_is_told_instead_of_waiting_for_threads_that_it_has_not(self) -> None:
        done = run_by_itself(
            "import idlewise, os, sys\n"
            f"idlewise.info({TRACE!r})\n"
            "if os.fork() == 0:\n"
            "    try:\n"
            f"        idlewise.info({TRACE!r})\n"
            "    except RuntimeError as error:\n"
            "        print(error, flush=True)\n"
            "    os._exit(0)\n"
            "os.wait()\n"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("this process was forked from one that had called idlewise", done.stdout)
        # Before the first call nothing is shared.
        done = run_by_itself(
            "import idlewise, os\n"
            "if os.fork() == 0:\n"
            f"    print(len(idlewise.info({TRACE!r}).json) > 100, flush=True)\n"
            "    os._exit(0)\n"
            "os.wait()\n"
        )
        self.assertEqual((done.returncode, done.stdout), (0, "True\n"), done.stderr)

    def test_a_program_may_end_while_a_thread_of_its_is_in_a_call(self) -> None:
        for _ in range(3):
            done = run_by_itself(
                "import idlewise, threading, time\n"
                f"call = lambda: idlewise.sweep({TRACE!r}, governor='menu:intervals=4..16,decay_shift=0..10', platform='pixel6')\n"
                "threading.Thread(target=call, daemon=True).start()\n"
                "time.sleep(0.2)\n"
            )
            self.assertEqual(done.returncode, 0, done.stderr)


class TheSameAsTheCommand(unittest.TestCase):
    def both(self, result: idlewise.Result, *words: str) -> None:
        self.assertEqual(result.json, command(*words, "--format", "json").stdout)

    def test_json_is_equal_byte_for_byte(self) -> None:
        self.both(idlewise.info(TRACE), "info", TRACE)
        self.both(
            idlewise.replay(TRACE, governor=["menu", "teo-util:util_threshold_shift=5"], per="state", seed=3),
            *("replay", TRACE, "--governor", "menu,teo-util:util_threshold_shift=5", "--per", "state", "--seed", "3"),
        )
        self.both(
            idlewise.compare(TRACE, governor=("menu", "teo")), "compare", "--governor", "menu,teo", TRACE
        )
        self.both(
            idlewise.explain(TRACE, governor="teo", decision=100),
            *("explain", TRACE, "--governor", "teo", "--decision", "100"),
        )
        self.both(idlewise.score(TRACE, per="cpu"), "score", TRACE, "--per", "cpu")
        self.both(
            idlewise.simulate("timer", governor="menu,teo", seconds=0.5, repeat=2),
            *("simulate", "timer", "--governor", "menu,teo", "--seconds", "0.5", "--repeat", "2"),
        )
        self.both(idlewise.reproduce("walt-ramp"), "reproduce", "walt-ramp")
        self.both(idlewise.check("shallow", property=["index", "shallow"]), "check", "shallow", "-p", "index,shallow")

    def test_text_is_that_of_the_command(self) -> None:
        result = idlewise.replay(TRACE, governor="menu,teo")
        self.assertEqual(str(result), command("replay", TRACE, "--governor", "menu,teo").stdout)
        self.assertEqual(result.details, command("replay", TRACE, "--governor", "menu,teo", "-v").stdout)

    def test_a_finding_is_no_error(self) -> None:
        self.assertTrue(idlewise.compare(TRACE, governor="menu,teo", fail_if="too_deep > +99pp").same)
        self.assertFalse(idlewise.compare(TRACE, governor="menu,teo", fail_if=["too_deep > -99pp"]).same)


class Errors(unittest.TestCase):
    def refused(self, call: object, *words: str) -> idlewise.Error:
        with self.assertRaises(idlewise.Error) as caught:
            call()  # type: ignore[operator]
        why = str(caught.exception)
        self.assertTrue(command(*words).stderr.startswith(f"idlewise: {why}"), why)
        return caught.exception

    def test_they_have_the_words_of_the_command(self) -> None:
        self.refused(lambda: idlewise.replay("/none.dat"), "replay", "/none.dat")
        self.refused(lambda: idlewise.replay(TRACE, governor="none"), "replay", TRACE, "--governor", "none")
        with self.assertRaisesRegex(idlewise.Error, "^invalid value '-1' for '--repeat <R>': expected a whole number"):
            idlewise.simulate("timer", repeat=-1)

    def test_values_that_are_none_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "--seconds: nan"):
            idlewise.simulate("timer", seconds=float("nan"))
        with self.assertRaisesRegex(TypeError, "--seed: .* is no value; expected a text, a number or a path"):
            idlewise.simulate("timer", seed=object())  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "--governor: None"):
            idlewise.replay(TRACE, governor=[None])  # type: ignore[list-item]

    def test_files_are_not_overwritten(self) -> None:
        result = idlewise.replay(TRACE, governor="menu")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "result.json")
            result.save(path)
            with self.assertRaises(FileExistsError):
                result.save(path)
            with self.assertRaisesRegex(ValueError, "end the name with"):
                result.save(os.path.join(folder, "result.xml"))
            self.assertEqual(pathlib.Path(path).read_text(), result.json)
            with self.assertRaisesRegex(idlewise.Error, "exists"):
                idlewise.tape(TRACE, output=path)

    def test_a_chart_that_is_not_there(self) -> None:
        result = idlewise.replay(TRACE, governor="menu")
        with self.assertRaisesRegex(ValueError, "no chart frnt; did you mean `front`"):
            result.plot("frnt")
        with self.assertRaisesRegex(ValueError, "no charts"):
            idlewise.replay(TRACE, governor="menu", charts=False).plot("measures")


class Python(unittest.TestCase):
    def test_other_threads_run_meanwhile(self) -> None:
        turns = 0
        done = threading.Event()

        def count() -> None:
            nonlocal turns
            while not done.is_set():
                turns += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        idlewise.simulate("frames", seconds=5, repeat=3)
        done.set()
        thread.join()
        self.assertGreater(turns, 20)

    def test_two_threads_call_at_once(self) -> None:
        results: list[str] = []
        calls = [
            threading.Thread(target=lambda: results.append(idlewise.replay(TRACE, governor="menu,teo").json))
            for _ in range(4)
        ]
        for one in calls:
            one.start()
        for one in calls:
            one.join()
        self.assertEqual(len(results), 4)
        self.assertEqual(len(set(results)), 1)

    def test_progress_is_heard_and_may_end_a_call(self) -> None:
        heard: list[tuple[str, int, int]] = []
        idlewise.simulate("frames", seconds=20, repeat=8, progress=lambda *step: heard.append(step))
        self.assertTrue(all(0 <= done <= of for _, done, of in heard), heard)

        class Enough(Exception):
            pass

        def stop(*_: object) -> None:
            raise Enough

        begun = time.monotonic()
        with self.assertRaises(Enough):
            idlewise.simulate("frames", seconds=5, repeat=10000, progress=stop)
        # Nor do the runs that are left keep the next call waiting.
        idlewise.simulate("timer", seconds=0.1, repeat=1)
        self.assertLess(time.monotonic() - begun, 60)

    def test_ctrl_c_ends_a_call(self) -> None:
        code = "import idlewise; print('ready', flush=True); idlewise.simulate('frames', seconds=5, repeat=10000)"
        child = interruptible(self, code)
        assert child.stdout is not None and child.stderr is not None
        self.assertEqual(child.stdout.readline(), "ready\n")
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", said)
        self.assertNotIn("panicked", said)

    def test_warnings_are_pythons(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = idlewise.replay(TRACE, governor="menu")
        self.assertEqual([str(w.message) for w in caught], list(result.warnings))

    def test_a_large_sweep_says_first_how_long_it_takes(self) -> None:
        class Enough(Exception):
            pass

        def stop(what: str, done: int, of: int) -> None:
            if what == "replaying" and done:
                raise Enough

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with self.assertRaises(Enough):
                idlewise.sweep(TRACE, governor="teo:residency_threshold_ns=0..999999", platform="pixel6", progress=stop)
        [said] = caught
        self.assertRegex(str(said.message), r"^1000002 settings .* decisions, .* on \d+ cores?")
        self.assertEqual(said.filename, __file__)

    def test_notebooks_show_a_result(self) -> None:
        result = idlewise.replay(TRACE, governor="menu,teo")
        self.assertTrue(result._repr_html_().startswith("<svg"))
        self.assertTrue(result.plot("front")._repr_svg_().startswith("<svg"))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.svg")
            result.plot("misses").save(path)
            self.assertTrue(path.read_bytes().startswith(b"<svg"))
            with self.assertRaisesRegex(ValueError, "end the name with .svg"):
                result.plot("misses").save(path.with_suffix(".png"))
            result.save(pathlib.Path(folder, "a.html"))

    def test_a_recording_keeps_what_its_trace_lacks(self) -> None:
        recording = idlewise.read(TRACE, recorded_on="kvm-guest")
        self.assertEqual(
            recording.replay(governor="menu").json,
            idlewise.replay(TRACE, governor="menu", recorded_on="kvm-guest").json,
        )
        with tempfile.TemporaryDirectory() as folder:
            tape = recording.tape(os.path.join(folder, "a.tape"))
            rates = [r.replay(governor="menu,teo").data["traces"][0]["governors"] for r in (recording, tape)]
            self.assertEqual(*[json.dumps(r, sort_keys=True) for r in rates])

    def test_types_hold(self) -> None:
        without("mypy")
        package = pathlib.Path(idlewise.__file__).parent
        found = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", os.devnull, package],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)

    def test_the_page_of_the_package_names_what_there_is(self) -> None:
        page = (ROOT / "python/README.md").read_text()
        shown = [name for name in idlewise.__all__ if name[0].islower()]
        self.assertEqual([name for name in shown if f"`{name}`" not in page], [])
        # Every command that is a function is there.
        commands = [name for name, one in vars(idlewise._commands).items() if inspect.isfunction(one) and one.__module__ == "idlewise._commands"]
        self.assertGreater(len(commands), 20)
        self.assertEqual([name for name in commands if name not in shown], [])


class Guide(unittest.TestCase):
    def test_its_examples_run(self) -> None:
        for package in ("polars", "pyarrow", "pandas"):
            without(package)
        page = (ROOT / "docs/guide/python.md").read_text()
        examples = [part.split("```")[0] for part in page.split("```python\n")[1:]]
        self.assertGreater(len(examples), 4)
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            for end in (".dat", ".toml"):
                shutil.copy(TRACE.replace(".dat", end), os.path.join(folder, "trace" + end))
            os.chdir(folder)
            try:
                for example in examples:
                    with contextlib.redirect_stdout(io.StringIO()) as said:
                        exec(compile(example, "docs/guide/python.md", "exec"), {})
                    self.assertNotEqual(said.getvalue() == "", "print(" in example, example)
            finally:
                os.chdir(before)


class Frames(unittest.TestCase):
    def setUp(self) -> None:
        self.result = idlewise.replay(TRACE, governor="menu,teo,oracle")
        self.rows = len(self.result.csv.strip().splitlines()) - 1

    def test_pyarrow(self) -> None:
        without("pyarrow")
        table = self.result.to_arrow()
        self.assertEqual(table.num_rows, self.rows)
        self.assertIn("governor", table.column_names)

    def test_polars(self) -> None:
        without("polars")
        self.assertEqual(self.result.to_polars()["governor"].to_list().count("teo"), self.rows // 3)

    def test_pandas(self) -> None:
        without("pandas")
        self.assertEqual(len(self.result.to_pandas()), self.rows)

    def test_duckdb(self) -> None:
        without("duckdb")
        without("pyarrow")
        import duckdb

        numbers = self.result.to_arrow()
        self.assertEqual(duckdb.sql("select count(*) from numbers").fetchall(), [(self.rows,)])
        del numbers

    def test_decisions_come_in_batches(self) -> None:
        without("pyarrow")
        import pyarrow

        kept = idlewise.decisions(TRACE, governor="menu,teo")
        folder = os.path.dirname(kept._path)
        reader = pyarrow.RecordBatchReader.from_stream(kept)
        table = reader.read_all()
        self.assertGreater(table.num_rows, 1000)
        self.assertEqual(set(table["governor"].to_pylist()), {"menu", "teo"})
        del kept
        self.assertFalse(os.path.exists(folder))
        with contextlib.suppress(idlewise.Error):
            idlewise.decisions("/none.dat")
        self.assertEqual([f for f in os.listdir(tempfile.gettempdir()) if f == os.path.basename(folder)], [])


class Words(unittest.TestCase):
    def test_what_would_be_dropped_or_taken_for_something_else_is_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, "parameters are part of a governor's name, such as 'teo:decay_shift=3'"):
            idlewise.replay(TRACE, governor={"teo": {"decay_shift": 3}})
        with self.assertRaisesRegex(TypeError, r"argument of replay: several are arguments of their own.*replay\(\*those\)"):
            idlewise.replay([TRACE, TRACE], governor="teo")  # type: ignore[arg-type]

    def test_names_can_be_listed_and_are_no_data(self) -> None:
        self.assertRegex(str(idlewise.governors()), r"(?m)^ teo-util +\S")
        self.assertRegex(str(idlewise.platforms()), r"(?m)^ pixel6 +\S")
        with self.assertRaisesRegex(ValueError, "has no result but the file that it wrote"):
            idlewise.governors().json
        with self.assertRaisesRegex(ValueError, "there is no result: the command only wrote or printed something"):
            idlewise.governors().csv
        with self.assertRaisesRegex(TypeError, "a result of info cannot go to another process; send its `json`"):
            pickle.dumps(idlewise.info(TRACE))

    def test_a_file_is_replaced_only_when_that_is_said(self) -> None:
        result = idlewise.info(TRACE)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "info.json")
            path.write_text("mine")
            with self.assertRaisesRegex(FileExistsError, "info.json is there already; overwrite=True replaces it"):
                result.save(path)
            self.assertEqual(path.read_text(), "mine")
            result.save(path, overwrite=True)
            self.assertEqual(path.read_text(), result.json)
            self.assertEqual(os.listdir(folder), ["info.json"])

    def test_a_file_that_finds_no_room_is_not_left_in_part(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = run_by_itself(
                "import idlewise, os, resource, signal\n"
                f"result = idlewise.info({TRACE!r})\n"
                "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
                "for how in (False, True):\n"
                "    try:\n"
                f"        result.save({folder!r} + '/info.json', overwrite=how)\n"
                "    except OSError as error:\n"
                "        print(error.errno)\n"
                f"print(os.listdir({folder!r}))\n"
            )
            self.assertEqual((done.returncode, done.stdout), (0, "27\n27\n[]\n"), done.stderr)


class Signals(unittest.TestCase):
    def test_pelt_halves_in_32_periods(self) -> None:
        period = 1024 * 1024
        util = idlewise.pelt([0], [320 * period], [32 * period, 320 * period, 352 * period])
        self.assertEqual(util.tolist()[0], 512)
        self.assertAlmostEqual(util[2], util[1] / 2, delta=2)
        fast = idlewise.pelt([0], [320 * period], [8 * period], half_life_ms=8)
        self.assertAlmostEqual(fast[0], 512, delta=12)

    def test_pelt_is_that_of_the_kernel_to_the_bit(self) -> None:
        """The golden vectors of the signals: updates of 1 ms and 4 ms while it runs, and of 1 ms after it always ran."""
        upwards = {1: 0, 2: 41, 4: 81, 8: 156, 10: 191, 16: 288, 20: 346, 32: 495, 34: 516, 50: 659, 64: 751, 75: 806, 78: 819}
        upwards |= {80: 828, 100: 894, 145: 973, 200: 1008, 300: 1022, 345: 1023, 400: 1024}
        util = idlewise.pelt([0], [400 * MS], range(MS, 401 * MS, MS))
        self.assertEqual({ms: util[ms - 1] for ms in upwards}, upwards)
        by_four = {4: 81, 8: 156, 12: 224, 20: 346, 40: 575, 80: 827, 144: 971, 200: 1007}
        util = idlewise.pelt([0], [400 * MS], range(4 * MS, 401 * MS, 4 * MS))
        self.assertEqual({ms: util[ms // 4 - 1] for ms in by_four}, by_four)
        # Between the ends of periods nothing is published, and nothing that was asked before it ran counts.
        begin = 5 * MS
        times = [0, begin, begin + MS // 2, begin + MS, begin + 2 * MS]
        self.assertEqual(idlewise.pelt([begin], [400 * MS], times).tolist(), [0, 0, 0, 0, 41])
        self.assertEqual(idlewise.pelt([begin], [400 * MS], times[1:]).tolist(), [0, 0, 0, 41])
        self.assertEqual(idlewise.pelt([], [], [3, MS]).tolist(), [0, 0])

    def test_walt_is_the_share_of_windows(self) -> None:
        demand, busy = idlewise.walt([5 * MS], [40 * MS], [20 * MS, 40 * MS, 80 * MS])
        self.assertEqual((demand[0], busy.tolist()), (768, [768, 1024, 0]))

    def test_numbers_of_numpy_are_numbers(self) -> None:
        without("numpy")
        import numpy

        asked = {"seed": numpy.int64(3), "seconds": numpy.float32(0.5), "repeat": 1, "charts": False}
        plain = {"seed": 3, "seconds": 0.5, "repeat": 1, "charts": False}
        results = [idlewise.simulate("timer", governor="menu", **options) for options in (asked, plain)]  # type: ignore[arg-type]
        self.assertEqual(results[0].json, results[1].json)

    def test_arrays_of_any_kind_are_taken(self) -> None:
        lists = idlewise.pelt([0, 10 * MS], [5 * MS, 20 * MS], [20 * MS])
        arrays = idlewise.pelt(*(array.array("q", a) for a in ([0, 10 * MS], [5 * MS, 20 * MS], [20 * MS])))
        self.assertEqual(lists, arrays)
        without("numpy")
        import numpy

        at = numpy.arange(0, 100 * MS, MS, dtype=numpy.uint64)
        util = numpy.asarray(idlewise.pelt([0], [50 * MS], at))
        self.assertEqual((util.dtype, len(util), util.argmax()), (numpy.uint32, 100, 50))

    def test_intervals_that_make_no_sense_are_named(self) -> None:
        with self.assertRaisesRegex(ValueError, "2 starts and 1 ends"):
            idlewise.pelt([0, 1], [1], [2])
        with self.assertRaisesRegex(ValueError, "interval 1, 3 to 9 ns"):
            idlewise.walt([0, 3], [5, 9], [2])
        with self.assertRaisesRegex(ValueError, "negative"):
            idlewise.pelt(array.array("q", [-1]), [1], [2])
        with self.assertRaisesRegex(ValueError, "half_life_ms 7"):
            idlewise.pelt([0], [1], [2], half_life_ms=7)
        with self.assertRaisesRegex(ValueError, "kernel '6': expected MAJOR.MINOR"):
            idlewise.pelt([0], [1], [2], kernel="6")
        for window_ms in (1, float("nan"), float("inf")):
            with self.assertRaisesRegex(ValueError, "window_ms .*: expected a window of 10 ms to 1 s"):
                idlewise.walt([0], [1], [2], window_ms=window_ms)
        with self.assertRaisesRegex(ValueError, "half_life_ms nan: expected 8, 16 or 32"):
            idlewise.pelt([0], [1], [2], half_life_ms=float("nan"))  # type: ignore[arg-type]
        for wrong in ([float("nan")], array.array("d", [1.0]), ["1"], 7):
            with self.assertRaisesRegex(TypeError, "expected times as whole numbers of ns, 0 or more, in a list or an array, not"):
                idlewise.pelt(wrong, [1], [2])


if __name__ == "__main__":
    assert shutil.which(os.environ.get("IDLEWISE", "")), "IDLEWISE names no command"
    unittest.main()
