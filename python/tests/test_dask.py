# SPDX-License-Identifier: GPL-2.0-only
"""Does a sweep on a Dask cluster give what one machine gives, and does it say what is wrong? `make cluster` has the rest."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
from typing import Any
from unittest import mock

import idlewise

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data"
FEW: dict[str, Any] = {"governor": "teo:decay_shift=2..4", "platform": ["pixel6", "rk3399"]}
MISSING = [name for name in ("distributed", "fsspec", "s3fs", "moto") if importlib.util.find_spec(name) is None]

if not MISSING:
    import distributed

    import idlewise.dask
    from dask_cluster import Cluster, call_of, name_of, storage, twice


def recordings(folder: pathlib.Path) -> pathlib.Path:
    """A folder with recordings, one of them twice, and a file that is none."""
    for name in ("mixed", "sleeploop"):
        for end in (".dat", ".toml"):
            shutil.copy(DATA / (name + end), folder)
    (folder / "more").mkdir()
    for name in ("boot-rk3399-timer", "kvm-quiet"):
        shutil.copy(ROOT / f"corpus/{name}.tape", folder / "more")
    shutil.copy(ROOT / "corpus/kvm-quiet.tape", folder / "z-again.tape")
    (folder / "none.dat").write_bytes(b"nothing")
    return folder


class Unpickled:
    """Makes a folder where it is unpickled."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (self.folder,)


class Faulty(distributed.WorkerPlugin if not MISSING else object):  # type: ignore[misc]
    """Makes a worker that does not compute right."""

    name = "faulty"

    def setup(self, worker: Any) -> None:
        from idlewise import _dask_worker

        right = self.right = _dask_worker.Order.perform

        def wrong(order: Any, task: Any) -> dict[str, Any]:
            answer = right(order, task)
            if worker.name == "w0" and "lines" in answer:
                answer["lines"] = answer["lines"].replace('"decisions":', '"decisions":1')
            return answer

        _dask_worker.Order.perform = wrong  # type: ignore[method-assign]

    def teardown(self, worker: Any) -> None:
        from idlewise import _dask_worker

        _dask_worker.Order.perform = self.right  # type: ignore[method-assign]


class Unreachable(distributed.WorkerPlugin if not MISSING else object):  # type: ignore[misc]
    """Makes a storage not answer about a file."""

    name = "unreachable"

    def __init__(self, file: str) -> None:
        self.file = file

    def setup(self, worker: Any) -> None:
        from idlewise import _dask_worker

        right = self.right = _dask_worker._copied

        def copied(fs: Any, path: str, to: str, most: int) -> int | None:
            if path.endswith(self.file):
                raise TimeoutError("nobody answers")
            return right(fs, path, to, most)

        _dask_worker._copied = copied

    def teardown(self, worker: Any) -> None:
        from idlewise import _dask_worker

        _dask_worker._copied = self.right


class WithoutACluster(unittest.TestCase):
    def test_without_the_packages_it_says_what_to_install(self) -> None:
        code = "import sys; sys.modules['distributed'] = None; import idlewise; import idlewise.dask"
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
        self.assertIn("ImportError: sweeps on a cluster need Dask and fsspec: pip install 'idlewise[dask]'", said)

    def test_a_version_that_runs_what_a_url_says_is_refused(self) -> None:
        for version, refused in (("2026.4.0", True), ("2025.12", True), ("2026.6.0", False), ("2027.1.0.post1", False)):
            code = f"""import sys, types
sys.modules["distributed"], sys.modules["fsspec"] = types.ModuleType("distributed"), types.ModuleType("fsspec")
sys.modules["fsspec"].__version__ = "{version}"
import idlewise.dask"""
            ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
            # What stands in for the packages has nothing of them.
            self.assertNotEqual(ended.returncode, 0)
            self.assertEqual(f"fsspec {version} is older than 2026.6" in ended.stderr, refused, ended.stderr)


class OnACluster(unittest.TestCase):
    cluster: Cluster

    @classmethod
    def setUpClass(cls) -> None:
        if MISSING:
            raise unittest.SkipTest(f"sweeps on a Dask cluster ({', '.join(MISSING)} not installed)")
        cls.cluster = Cluster(4)
        cls.addClassCleanup(cls.cluster.close)

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "recordings").mkdir()
        self.recordings = recordings(self.folder / "recordings")
        self.to = self.folder / "results"
        self.cluster.forget()

    def sweep(self, *given: Any, **more: Any) -> idlewise.Result:
        asked = {"to": self.to, "charts": False, "progress": False, **FEW, **more}
        try:
            return idlewise.dask.sweep(self.cluster.client, *given or (self.recordings,), **asked)
        except (idlewise.Error, TypeError):
            raise
        except Exception:
            print(self.cluster.log(), file=sys.stderr)
            raise

    def test_the_result_is_that_of_one_machine(self) -> None:
        heard: list[tuple[str, int, int]] = []
        there = self.sweep(progress=lambda *step: heard.append(step))
        here = idlewise.sweep(self.recordings, charts=False, **FEW)
        self.assertEqual(there.json, here.json)
        self.assertEqual(str(there), str(here))
        self.assertEqual(len(there["cases"]), 8)
        whys = [left["why"] for left in there["left_out"]]
        self.assertEqual(sum("would count twice" in why for why in whys), 2, whys)
        self.assertEqual(sum("none.dat" in why for why in whys), 2, whys)
        self.assertEqual(heard[-1][1], heard[-1][2])
        # One in a hundred, at least one, runs on a second worker.
        # The worker writes it down when it has given the result.
        end = time.monotonic() + 5
        while not twice(ran := self.cluster.executed()) and time.monotonic() < end:
            time.sleep(0.1)
        again = twice(ran)
        self.assertEqual(len(again), 1, ran)
        [workers] = again.values()
        self.assertEqual(len(set(workers)), 2)
        tasks = {name_of(one["key"]) for one in ran}
        self.assertEqual(len(ran), len(tasks), "something was run twice")
        # What is kept is not run again, wherever it was run.
        self.cluster.forget()
        self.assertEqual(self.sweep().json, here.json)
        # But for the file that is no recording, on each machine.
        self.assertEqual(len(self.cluster.executed()), 2)
        steps: list[tuple[str, int, int]] = []
        idlewise.sweep(self.recordings, to=self.to, charts=False, progress=lambda *step: steps.append(step), **FEW)
        self.assertEqual([step for step in steps if step[0] == "replaying" and step[1] > 0], [])

    def test_a_sweep_that_was_ended_goes_on(self) -> None:
        def stop(_: str, done: int, of: int) -> None:
            if done > of // 3:
                raise KeyboardInterrupt

        (self.recordings / "none.dat").unlink()
        more = {"governor": "menu:intervals=4..10", "platform": "pixel6"}
        with mock.patch("idlewise.dask.MOST_SETTINGS", 2), mock.patch("idlewise.dask.LEAST_SETTINGS", 2):
            with self.assertRaises(KeyboardInterrupt):
                self.sweep(progress=stop, **more)
            kept = sum(line.count("variant") for f in self.to.iterdir() for line in f.read_text().splitlines())
            self.assertGreater(kept, 3)
            ended = {call_of(one["key"]) for one in self.cluster.executed("begins")}
            there = self.sweep(**more)
        self.assertEqual(there.json, idlewise.sweep(self.recordings, charts=False, **more).json)
        # Settings of four recordings that were left, and of the task that is run twice: what the workers still had of the sweep
        # that was ended does not count.
        keys = [one["key"] for one in self.cluster.executed("begins")]
        executed = [key.split("-") for key in keys if call_of(key) not in ended]
        settings = sum(int(key[4]) - int(key[3]) for key in executed)
        self.assertLessEqual(settings, 4 * (7 + 2) - kept + 2)

    def test_recordings_come_from_a_storage(self) -> None:
        import s3fs

        with storage() as options:
            bucket = s3fs.S3FileSystem(**options, skip_instance_cache=True)
            bucket.put(f"{self.recordings}/", "idlewise/recordings/", recursive=True)
            there = self.sweep("s3://idlewise/recordings", storage=options)
        here = idlewise.sweep(self.recordings, charts=False, **FEW)
        self.assertEqual(there.json.replace("s3://idlewise/recordings", str(self.recordings)), here.json)

    def test_a_recording_that_vanishes_is_named_and_the_others_are_kept(self) -> None:
        lost = self.recordings / "sleeploop.dat"

        def vanish(_: str, done: int, __: int) -> None:
            if done > 3:
                lost.unlink(missing_ok=True)

        more: dict[str, Any] = {"platform": "pixel6", "governor": "menu:intervals=4..30"}
        with (
            mock.patch("idlewise.dask.MOST_SETTINGS", 1),
            mock.patch("idlewise.dask.LEAST_SETTINGS", 1),
            mock.patch("idlewise.dask.TASKS_PER_THREAD", 1),
            self.assertRaisesRegex(
                idlewise.Error, r"sleeploop.dat: No such file[^\n]*\(task idlewise-run-\w+-\d+-\d+ on worker tcp://127.0.0.1:\d+\)"
            ) as caught,
        ):
            self.sweep(self.recordings / "mixed.dat", lost, progress=vanish, **more)
        assert caught.exception.result is not None
        self.assertEqual([case["name"] for case in caught.exception.result["cases"]], ["mixed.dat"])
        # The finished work is there.
        self.cluster.forget()
        self.sweep(self.recordings / "mixed.dat", **more)
        self.assertEqual(self.cluster.executed(), [])

    def test_what_no_worker_can_read_is_said_with_task_and_worker(self) -> None:
        where = r" \(task idlewise-(read|run)-[\w-]+ on worker tcp://127.0.0.1:\d+\)"
        none = self.recordings / "none.dat"
        with self.assertRaisesRegex(idlewise.Error, rf"{none} is not a trace [^\n]*{where}$"):
            self.sweep(none)
        # A storage that does not answer: a folder is left out, and a warning says where.
        import s3fs

        with storage() as options:
            bucket = s3fs.S3FileSystem(**options, skip_instance_cache=True)
            bucket.put(f"{self.recordings}/", "idlewise/recordings/", recursive=True)
            self.cluster.client.register_plugin(Unreachable("sleeploop.dat"))
            self.addCleanup(self.cluster.client.unregister_worker_plugin, "unreachable")
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                result = self.sweep("s3://idlewise/recordings", storage=options)
            refused = "s3://idlewise/recordings/sleeploop.dat: nobody answers"
            [warning] = [str(w.message) for w in said if "sleeploop" in str(w.message)]
            self.assertRegex(warning, rf"^{refused}{where}: left out$")
            self.assertIn(refused, [left["why"] for left in result["left_out"]])
            with self.assertRaisesRegex(idlewise.Error, rf"^{refused}{where}$"):
                self.sweep("s3://idlewise/recordings/sleeploop.dat", storage=options)

    def test_code_goes_over_tls_only_unless_that_is_accepted(self) -> None:
        file = self.folder / "mine.c"
        shutil.copy(ROOT / "governors/teo.c", file)
        shutil.copy(ROOT / "governors/governor.h", self.folder)
        more = {"governor": f"{file}:decay_shift=2..3", "platform": "pixel6"}
        with self.assertRaisesRegex(idlewise.Error, "tcp://.*: code of C files goes to workers over TLS only.*unencrypted=True"):
            self.sweep(**more)
        self.assertEqual(self.cluster.executed(), [])
        there = self.sweep(unencrypted=True, **more)
        self.assertEqual(there.json, idlewise.sweep(self.recordings, charts=False, **more).json)
        plan = self.folder / "plan.toml"
        plan.write_text(f'governors = ["{file}"]\nrecordings = ["recordings"]\n')
        with self.assertRaisesRegex(idlewise.Error, "a plan compiles nothing"):
            idlewise.dask.sweep(self.cluster.client, plan=plan, to=self.to, unencrypted=True)
        with self.assertRaisesRegex(TypeError, "takes governors by their names only"):
            self.sweep(governor=idlewise.Governor)

    def test_a_worker_that_does_not_compute_right_is_named(self) -> None:
        self.cluster.client.register_plugin(Faulty())
        self.addCleanup(self.cluster.client.unregister_worker_plugin, "faulty")
        # Every task runs twice: the faulty worker gets one sooner or later.
        with mock.patch("idlewise.dask.CHECK_EVERY", 1):
            with self.assertRaisesRegex(
                idlewise.Error, r"idlewise-run-\w+-0-5: .* on .* gives .*tcp://127.0.0.1:\d+, and .* on worker tcp://127.0.0.1"
            ):
                self.sweep()
        for file in self.to.iterdir():
            self.assertNotRegex(file.read_text(), r'"decisions":1\d{5,}')

    def test_the_example_of_the_page_runs(self) -> None:
        page = (ROOT / "docs/guide/cluster.md").read_text()
        [example] = [part.split("```")[0] for part in page.split("```python\n")[1:]]
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.chdir(self.folder):
            exec(compile(example, "docs/guide/cluster.md", "exec"), {})
        self.assertTrue(said.getvalue().startswith("teo, 4 settings"), said.getvalue())
        self.assertTrue(any((self.folder / "results").iterdir()))

    def test_an_index_leads_to_no_other_host(self) -> None:
        with mock.patch("fsspec.core.url_to_fs", side_effect=lambda url, **_: (None, url)):
            _, path = idlewise.dask.worker_side.storage_of("s3://trusted/c/../../../other/x.tape", {})
        self.assertEqual(path, "s3://trusted/other/x.tape")

    def test_a_url_is_of_a_storage_and_of_one(self) -> None:
        with mock.patch("fsspec.core.url_to_fs", side_effect=AssertionError("it was opened")):
            for url in (
                "reference://::data:application/json,{}",
                "reference://x::s3://bucket/refs.json",
                "s3://bucket/x::https://host/y",
                "simplecache::s3://bucket/x",
                "zip://x.tape::s3://bucket/all.zip",
                "memory://x",
                "ftp://host/x.tape",
                "github://owner:repository@main/x.tape",
            ):
                with self.subTest(url), self.assertRaisesRegex(idlewise.dask.worker_side.Unread, "not one URL that begins with"):
                    idlewise.dask.worker_side.storage_of(url, {})

    def test_a_storage_that_does_not_say_how_much_it_has_fills_no_disk(self) -> None:
        class Zeros(io.RawIOBase):
            def read(self, size: int = -1) -> bytes:
                return bytes(size)

        class Endless:
            def size(self, _: str) -> None:
                return None

            def open(self, _path: str, _mode: str) -> Zeros:
                return Zeros()

        side, folder = idlewise.dask.worker_side, self.to.with_name("kept")
        with mock.patch.object(side, "_opened", lambda *_: (Endless(), "x/r.dat")):
            with self.assertRaisesRegex(side.Full, "more than the 4194304 bytes of cache_bytes"):
                with side.Cache(str(folder), 4 << 20, {}).recording("https://host/x/r.dat", [], None):
                    pass
        self.assertEqual(list(folder.iterdir()), [])

    def test_what_a_worker_sends_is_not_unpickled(self) -> None:
        ran = self.to.with_name("ran")
        with mock.patch.object(idlewise.dask.worker_side, "perform", lambda _: Unpickled(str(ran))):
            with self.assertRaisesRegex(idlewise.Error, "its answer cannot be read: not bytes"):
                self.sweep()
        self.assertFalse(ran.exists())

    def test_its_arguments_are_those_of_a_sweep_of_recordings(self) -> None:
        own = {"client", "storage", "cache", "cache_bytes", "unencrypted"}
        elsewhere_only = {"workload", "seeds", "seconds", "cpufreq", "signal", "shard", "dry_run"}
        there, here = (set(inspect.signature(f).parameters) for f in (idlewise.dask.sweep, idlewise.sweep))
        self.assertEqual(there - own, here - elsewhere_only)
        plan = self.to.with_name("workloads.toml")
        plan.write_text('governors = ["teo"]\nrecordings = []\nworkloads = ["frames"]\n')
        with self.assertRaisesRegex(idlewise.Error, "sweep them without a cluster"):
            idlewise.dask.sweep(self.cluster.client, plan=plan, to=self.to)

    def test_what_is_wrong_is_said(self) -> None:
        with mock.patch("idlewise._idlewise.__version__", "0.0.1"):
            with self.assertRaisesRegex(idlewise.Error, f"has idlewise {idlewise.__version__}, and this is 0.0.1"):
                self.sweep()
        for given, more, words in (
            ([], {"governor": "toe:decay_shift=1"}, "no governor `toe`"),
            ([], {"governor": "teo:decay_shift=1..99"}, "it must be from 0 to"),
            ([], {"platform": "pixle6"}, "did you mean `pixel6`|no platform"),
            (["/none.dat"], {}, "/none.dat: No such file"),
            (["s3:/"], {}, "No such file"),
            (["memory://none"], {}, "memory://none: not one URL that begins with file://, https://"),
            (["nosuch://none"], {}, "nosuch://none: not one URL"),
            (["https://me:secret@127.0.0.1/x.tape"], {}, "a URL with a password .* by storage="),
        ):
            with self.subTest(words), self.assertRaisesRegex(idlewise.Error, words):
                self.sweep(*given, **more)
        with self.assertRaisesRegex(TypeError, "expected a distributed.Client"):
            idlewise.dask.sweep("tcp://127.0.0.1:1", "x", to=self.to)


if __name__ == "__main__":
    unittest.main()
