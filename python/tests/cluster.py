# SPDX-License-Identifier: GPL-2.0-only
"""Does a sweep on a Dask cluster lose or repeat anything when workers are killed, the scheduler is restarted, disks are full,
machines are slow, recordings vanish? make cluster runs it."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import distributed

import idlewise
import idlewise.dask
from children import interruptible
from dask_cluster import Cluster, certificates, name_of, storage, tls_flags, twice

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANY: dict[str, Any] = {"governor": "menu:intervals=4..15", "baseline": "teo", "charts": False}
"""With the baseline and the bound 14 settings."""

HEARD_S = 1.0
"""After so long the scheduler has heard that a result arrived."""


class Slow(distributed.WorkerPlugin):  # type: ignore[misc]
    """Makes a worker slow."""

    name = "slow"

    def __init__(self, who: str, seconds: float) -> None:
        self.who, self.seconds = who, seconds

    def setup(self, worker: Any) -> None:
        from idlewise import _dask_worker

        usual = self.usual = _dask_worker.Order.perform

        def slow(order: Any, task: Any) -> dict[str, Any]:
            if worker.name == self.who:
                time.sleep(self.seconds)
            return usual(order, task)

        _dask_worker.Order.perform = slow  # type: ignore[method-assign]

    def teardown(self, worker: Any) -> None:
        from idlewise import _dask_worker

        _dask_worker.Order.perform = self.usual  # type: ignore[method-assign]


def at(shares: dict[float, Callable[[], object]]) -> Callable[[str, int, int], None]:
    """Does something once so much of a sweep is done."""
    left = sorted(shares.items())

    def step(_: str, done: int, of: int) -> None:
        while left and of and done >= left[0][0] * of:
            left.pop(0)[1]()

    step.left = left  # type: ignore[attr-defined]
    return step


@contextlib.contextmanager
def small_disk(kilobytes: int) -> Iterator[pathlib.Path]:
    """A folder with no more room than that."""
    with tempfile.TemporaryDirectory(prefix="idlewise-disk-") as folder:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "idlewise-test", folder], capture_output=True, check=False
        )
        if made.returncode != 0:
            raise unittest.SkipTest("a full disk: needs root for a small tmpfs")
        try:
            yield pathlib.Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


class Whole(unittest.TestCase):
    """Each test has a cluster of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.recordings = self.folder / "recordings"
        self.recordings.mkdir()
        for file in sorted((ROOT / "corpus").glob("*.tape"))[::2]:
            shutil.copy(file, self.recordings)
        self.to = self.folder / "results"
        self.received: dict[str, float] = {}
        self.finished: list[str] = []
        keep = idlewise.dask._Run._keep

        def kept(run: Any, task: Any, answer: Any) -> None:
            keep(run, task, answer)
            self.received[task.name] = time.time()
            self.finished.append(task.name)

        for what, value in (("_Run._keep", kept), ("MOST_SETTINGS", 4), ("LEAST_SETTINGS", 1)):
            patch = mock.patch(f"idlewise.dask.{what}", value)
            patch.start()
            self.addCleanup(patch.stop)

    def cluster(self, *arguments: Any, **more: Any) -> Cluster:
        self.on = Cluster(*arguments, **more)
        self.addCleanup(self.on.close)
        return self.on

    def sweep(self, *given: Any, **more: Any) -> idlewise.Result:
        asked = {"to": self.to, "progress": False, **MANY, **more}
        try:
            return idlewise.dask.sweep(self.on.client, *given or (self.recordings,), **asked)
        except idlewise.Error:
            raise
        except Exception:
            print(self.on.log(), file=sys.stderr)
            raise

    def nothing_is_lost_or_repeated(self, there: idlewise.Result) -> None:
        here = idlewise.sweep(self.recordings, progress=False, **MANY)
        self.assertEqual(there.json, here.json)
        # What had come in did not begin again, once the scheduler had heard of it, and nothing came in twice.
        for one in self.on.executed("begins"):
            name = name_of(one["key"])
            if not name.endswith("-again"):
                self.assertLess(one["at"], self.received[name] + HEARD_S, f"{name} began again on {one['worker']}")
        self.assertEqual(len(self.finished), len(set(self.finished)))
        # What is kept is each result once.
        lines = [json.loads(line) for f in self.to.iterdir() for line in f.read_text().splitlines()]
        results = [(line["case"], line["variant"]) for line in lines if "variant" in line]
        self.assertEqual(len(results), len(set(results)))
        # One in a hundred, at least one, ran on two workers.
        tasks = len(set(self.finished))
        executed = self.on.executed()
        again = {name_of(e["key"]).removesuffix("-again") for e in executed if name_of(e["key"]).endswith("-again")}
        checked = {name: workers for name, workers in twice(executed).items() if name in again}
        self.assertEqual(len(checked), -(-tasks // 100))
        for name, workers in checked.items():
            self.assertGreater(len(set(workers)), 1, name)
        ended = [name_of(e["key"]) for e in executed if not name_of(e["key"]).endswith("-again")]
        print(
            f"{self.id().rsplit('.', 1)[1]}: {tasks} tasks, {len(ended)} executions that ended, "
            f"{len(self.on.executed('begins')) - len(checked)} that began, {len(checked)} run twice and compared",
            flush=True,
        )


class Mishaps(Whole):
    def test_workers_are_killed(self) -> None:
        on = self.cluster(4)

        def replaced() -> None:
            on.kill("w1")
            on.start_worker("w4")

        def two_are_left() -> None:
            # Two are needed to compare results.
            until = time.monotonic() + 60
            while time.monotonic() < until:
                workers = on.client.scheduler_info(n_workers=-1)["workers"].values()
                if any(worker["name"] == "w4" for worker in workers):
                    break
                time.sleep(0.1)
            on.kill("w3")

        step = at({0.2: replaced, 0.4: lambda: on.kill("w2"), 0.5: two_are_left})
        there = self.sweep(progress=step)
        self.assertEqual(step.left, [])  # type: ignore[attr-defined]
        self.nothing_is_lost_or_repeated(there)

    def test_the_scheduler_is_restarted(self) -> None:
        on = self.cluster(4)

        def restart() -> None:
            on.scheduler.kill()
            on.scheduler.wait()
            on.scheduler = on.start_scheduler()
            # Workers end with their scheduler; who started them starts them again.
            for name in list(on.workers):
                on.kill(name)
                on.start_worker(name + "b")
            until = time.monotonic() + 60
            while on.client.status != "connecting" and time.monotonic() < until:
                time.sleep(0.05)
            while on.client.status == "connecting" and time.monotonic() < until:
                time.sleep(0.05)
            from dask_cluster import Executions

            on.client.register_plugin(Executions(str(on.executions)))

        step = at({0.3: restart})
        there = self.sweep(progress=step)
        self.assertEqual(step.left, [])  # type: ignore[attr-defined]
        self.nothing_is_lost_or_repeated(there)

    def test_a_scheduler_that_stays_away_is_an_error_and_the_work_is_kept(self) -> None:
        on = self.cluster(2)
        on.client.close()
        on.client = distributed.Client(on.address, timeout=4, set_as_default=False)

        def end() -> None:
            on.scheduler.kill()

        with self.assertRaisesRegex(idlewise.Error, "the scheduler .* is gone.*the same call goes on"):
            self.sweep(progress=at({0.3: end}))
        on.close()
        before = dict(self.received)
        self.assertTrue(before)
        self.cluster(2)
        there = self.sweep()
        self.assertEqual(there.json, idlewise.sweep(self.recordings, progress=False, **MANY).json)
        again = {name_of(e["key"]) for e in self.on.executed("begins")} & set(before)
        self.assertEqual(again, set())

    def test_a_worker_stops_for_a_while_and_another_is_slow(self) -> None:
        on = self.cluster(4)
        on.client.register_plugin(Slow("w3", 0.5))
        stopped = on.workers["w2"]
        resumed: list[float] = []

        def resume() -> None:
            stopped.send_signal(signal.SIGCONT)
            resumed.append(time.time())

        there = self.sweep(progress=at({0.2: lambda: stopped.send_signal(signal.SIGSTOP), 0.8: resume}))
        self.assertTrue(resumed)
        self.nothing_is_lost_or_repeated(there)
        by = [e["worker"] for e in on.executed()]
        slow = [w for w, info in on.client.scheduler_info(n_workers=-1)["workers"].items() if info["name"] == "w3"]
        self.assertLess(by.count(slow[0]), max(map(by.count, set(by))))

    def test_the_disk_of_a_worker_is_full(self) -> None:
        with small_disk(256) as disk, storage() as options:
            on = self.cluster(3)
            on.start_worker("small", disk)
            on.client.wait_for_workers(4, timeout=120)
            (disk / "filler").write_bytes(bytes(160 << 10))
            self.upload(options)
            there = self.sweep("s3://idlewise/recordings", storage=options)
            text = there.json.replace("s3://idlewise/recordings", str(self.recordings))
            self.assertEqual(text, idlewise.sweep(self.recordings, progress=False, **MANY).json)
            self.assertEqual(len(self.finished), len(set(self.finished)))
            workers = on.client.scheduler_info(n_workers=-1)["workers"]
            [small] = [worker for worker, info in workers.items() if info["name"] == "small"]
            begun = [e for e in on.executed("begins") if e["worker"] == small]
            self.assertTrue(begun)
            print(f"the full worker began {len(begun)} tasks, which others did", flush=True)
            for name in ("w0", "w1", "w2"):
                on.kill(name)
            shutil.rmtree(self.to)
            with self.assertRaisesRegex(idlewise.Error, "No space left on device; no worker has room for s3://idlewise/recordings/"):
                self.sweep("s3://idlewise/recordings", storage=options)
            on.close()

    def upload(self, options: dict[str, Any]) -> Any:
        import s3fs

        bucket = s3fs.S3FileSystem(**options, skip_instance_cache=True)
        bucket.put(f"{self.recordings}/", "idlewise/recordings/", recursive=True)
        return bucket

    def test_a_recording_of_a_storage_vanishes(self) -> None:
        on = self.cluster(4)
        names = sorted(file.name for file in self.recordings.iterdir())
        size = max(file.stat().st_size for file in self.recordings.iterdir())
        with storage() as options:
            bucket = self.upload(options)
            step = at({0.2: lambda: bucket.rm(f"idlewise/recordings/{names[-1]}")})
            # What is fetched does not stay: it is fetched again for the next task.
            with mock.patch("idlewise.dask.TASKS_PER_THREAD", 1):
                lost = self.sweep("s3://idlewise/recordings", storage=options, cache_bytes=size, progress=step)
            [left] = lost["left_out"]
            self.assertEqual(left["name"], names[-1])
            self.assertRegex(left["why"], f"^s3://idlewise/recordings/{names[-1]}: No such file")
            self.assertEqual(len(lost["cases"]), len(names) - 1)
            for worker in on.root.glob("w*/**/idlewise"):
                kept = sum(f.stat().st_size for f in worker.glob("*/*.tape"))
                self.assertLessEqual(kept, size)
            # It is back: what is left of it is run.
            bucket.put(str(self.recordings / names[-1]), f"idlewise/recordings/{names[-1]}")
            on.forget()
            there = self.sweep("s3://idlewise/recordings", storage=options)
        text = there.json.replace("s3://idlewise/recordings", str(self.recordings))
        self.assertEqual(text, idlewise.sweep(self.recordings, progress=False, **MANY).json)
        self.assertLess(len(on.executed()), 7)

    def test_ctrl_c_keeps_what_is_finished(self) -> None:
        on = self.cluster(2)
        code = (
            "import distributed, idlewise.dask, sys\n"
            f"client = distributed.Client({on.address!r}, set_as_default=False)\n"
            "idlewise.dask.MOST_SETTINGS = 4\n"
            "print('ready', flush=True)\n"
            f"idlewise.dask.sweep(client, {str(self.recordings)!r}, to={str(self.to)!r}, "
            "governor='menu:intervals=4..15', baseline='teo', "
            "progress=lambda what, done, of: print(done, flush=True))\n"
        )
        child = interruptible(self, code)
        assert child.stdout is not None
        for line in child.stdout:
            if line.strip().isdigit() and int(line) > 40:
                break
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", said)
        kept = sum("variant" in line for f in self.to.iterdir() for line in f.read_text().splitlines())
        self.assertGreaterEqual(kept, 40)
        time.sleep(1)
        on.forget()
        there = self.sweep()
        self.assertEqual(there.json, idlewise.sweep(self.recordings, progress=False, **MANY).json)
        results = [
            (line["case"], line["variant"])
            for f in self.to.iterdir()
            for line in map(json.loads, f.read_text().splitlines())
            if "variant" in line
        ]
        self.assertEqual(len(results), len(set(results)))


class Trust(Whole):
    def test_code_goes_over_tls(self) -> None:
        security = certificates(self.folder)
        on = self.cluster(2, security, tls_flags(self.folder))
        self.assertTrue(on.client.scheduler.address.startswith("tls://"))
        file = self.folder / "mine.c"
        shutil.copy(ROOT / "governors/teo.c", file)
        shutil.copy(ROOT / "governors/governor.h", self.folder)
        more = {"governor": [f"{file}:decay_shift=2..5", "menu"], "baseline": "teo"}
        there = self.sweep(**more)
        here = idlewise.sweep(self.recordings, progress=False, charts=False, **more)
        self.assertEqual(there.json, here.json)
        self.assertEqual(len(there["foreign"]), 1)
        # Without a certificate nobody is let in.
        with self.assertRaises(OSError):
            distributed.Client(on.address.replace("tls://", "tcp://"), timeout=3, set_as_default=False)

    def test_another_version_is_refused(self) -> None:
        on = self.cluster(1)
        for name, text, words in (
            ("other", "__version__ = '0.0.9'\n", f"has idlewise 0.0.9, and this is {idlewise.__version__}"),
            ("none", "raise ImportError('no idlewise')\n", "has no idlewise: install"),
        ):
            with self.subTest(name):
                package = self.folder / name / "idlewise"
                package.mkdir(parents=True)
                (package / "__init__.py").write_text(text)
                before = os.environ["PYTHONPATH"]
                # Its tests' folder stands before it, and has no idlewise.
                os.environ["PYTHONPATH"] = str(package.parent)
                try:
                    on.start_worker(name)
                finally:
                    os.environ["PYTHONPATH"] = before
                on.client.wait_for_workers(2, timeout=120)
                with self.assertRaisesRegex(idlewise.Error, f"tcp://127.0.0.1:[0-9]+ {words}"):
                    self.sweep()
                on.kill(name)
                until = time.monotonic() + 60
                while len(on.client.nthreads()) > 1 and time.monotonic() < until:
                    time.sleep(0.1)


if __name__ == "__main__":
    unittest.main()
