# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps on a Dask cluster that is there already: pip install 'idlewise[dask]'.

    import distributed, idlewise.dask

    client = distributed.Client("tls://scheduler:8786", security=...)
    result = idlewise.dask.sweep(client, "s3://bucket/recordings", governor="menu:intervals=4..16", to="results")
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import json
import os
import posixpath
import queue
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _idlewise
from ._call import Progress, Value, call, words
from ._governor import Governors
from ._progress import Bar
from ._result import Error, IdlewiseWarning, Result

LEAST_FSSPEC = (2026, 6)
"""Versions before run what a URL says (templates of reference://)."""

try:
    distributed: Any = importlib.import_module("distributed")
    _fsspec: Any = importlib.import_module("fsspec")
    if tuple(int(n) for n in _fsspec.__version__.split(".")[:2]) < LEAST_FSSPEC:
        raise ImportError(f"fsspec {_fsspec.__version__} is older than {'.'.join(str(n) for n in LEAST_FSSPEC)}")
except ImportError as error:
    raise ImportError(f"sweeps on a cluster need Dask and fsspec: pip install 'idlewise[dask]' ({error})") from error

from . import _dask_worker as worker_side

__all__ = ["sweep"]

MOST_SETTINGS = 500
"""A part of a sweep has at most so many."""
LEAST_SETTINGS = 8
TASKS_PER_THREAD = 3
"""So many tasks for each thread of the cluster are with the scheduler at a time."""
CHECK_EVERY = 100
"""One task of so many runs twice, on different workers."""
TRIES = 4
WITH_PASSWORDS = ("https",)
"""Schemes whose URLs may have a user's password before the host."""
MOST_BYTES = 1 << 30
"""No answer of a task is longer."""
LOOK_S = 0.5
"""How often the cluster is looked at while no task ends."""

# Every Python can evaluate it, with idlewise or without.
VERSION = "__import__('idlewise').__version__"


def sweep(
    client: Any,
    *recordings: Value,
    to: Value,
    governor: Value | Iterable[Value] | None = None,
    baseline: Value | None = None,
    front: Value | Iterable[Value] | None = None,
    sample: Value | None = None,
    method: Value | None = None,
    plan: Value | None = None,
    platform: Value | Iterable[Value] | None = None,
    recorded_on: Value | None = None,
    cluster: Value | None = None,
    hz: Value | None = None,
    kernel_tree: Value | Iterable[Value] | None = None,
    seed: Value | None = None,
    storage: Mapping[str, Any] | None = None,
    cache: str | None = None,
    cache_bytes: int = 10 << 30,
    unencrypted: bool = False,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Run `idlewise.sweep` on the workers of a Dask cluster; the result is that of one machine, byte for byte.

    client: A distributed.Client.
    recordings: As those of `idlewise.sweep`, by paths that the workers have, too, or by URLs that fsspec opens
        (s3://bucket/folder).
    to: A folder here that keeps every result as soon as it is there. The same call goes on where another was ended.
    governor ... seed: As those of `idlewise.sweep`. The cluster compiles nothing: code of C files and kernel trees is
        compiled here, and sent over TLS only.
    storage: Options of fsspec for the URLs, which workers get, too.
    cache: A folder on the disk of each worker that keeps recordings of URLs by their content; it may be shared by the
        workers of a host, and stay for other sweeps. [default: in the worker's own folder, which goes with it]
    cache_bytes: So much of it at most.
    unencrypted: Send code of C files over a connection that anybody can read and change.
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in notebooks; False: nothing.

    Raises Error as `idlewise.sweep` does, also where a worker has another version of idlewise, or two workers compute
    different results. What was finished is kept in `to` then, as after Ctrl-C.
    """
    options: dict[str, Any] = {
        "--governor": (governor, "commas"),
        "--baseline": (baseline, "commas"),
        "--front": (front, "commas"),
        "--sample": (sample, "commas"),
        "--method": (method, "commas"),
        "--plan": (plan, "commas"),
        "--to": (to, "commas"),
        "--platform": (platform, "commas"),
        "--recorded-on": (recorded_on, "commas"),
        "--cluster": (cluster, "commas"),
        "--hz": (hz, "commas"),
        "--kernel-tree": (kernel_tree, "again"),
        "--seed": (seed, "commas"),
    }
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise TypeError(f"client: expected a distributed.Client that is not asynchronous, and got {client!r}")
    with Bar.of(progress) as heard:
        parts, why = _idlewise.sweep_parts(words("sweep", recordings, options, Governors("sweep")), heard)
        if parts is None:
            raise Error((why or "").strip())
        code = _described(parts.code)
        _check_encrypted(client, code, unencrypted)
        with _listing(parts.recordings, storage or {}) as files:
            order = worker_side.Order(_described(parts.order), code, storage or {}, cache, cache_bytes)
            run = _Run(client, parts, order, files, heard)
            cases = run.done()
    for text in run.left_out:
        warnings.warn(text, IdlewiseWarning, stacklevel=2)
    try:
        return call("sweep", recordings, options, charts, False, json.dumps(cases))
    except Error as error:
        raise Error(run.with_places(str(error)), error.result) from error.__cause__


def _described(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except ValueError as why:
        raise Error(str(why)) from None


def _check_encrypted(client: Any, code: Mapping[str, bytes], unencrypted: bool) -> None:
    if not code or unencrypted:
        return
    places = [client.scheduler.address, *client.nthreads()]
    for place in places:
        if not place.startswith(("tls://", "inproc://", "wss://")):
            raise Error(
                f"{place}: code of C files goes to workers over TLS only, and this connection has none. Start scheduler, "
                "workers and client with certificates (docs/guide/cluster.md), or accept it with unencrypted=True: then "
                "whoever is between them can have other code run"
            )


@dataclass
class _File:
    """A recording that is to be read."""

    json: str
    path: str
    by_user: bool
    where: str
    """For workers."""
    companions: list[str]
    """Names of files next to it that go with it."""


@contextlib.contextmanager
def _listing(recordings: Iterable[str], storage: Mapping[str, Any]) -> Iterator[list[_File]]:
    """The files that are named. None of them is read."""
    with tempfile.TemporaryDirectory(prefix="idlewise-") as indices:
        named: list[Any] = []
        companions: dict[str, list[str]] = {}
        for n, given in enumerate(recordings):
            if worker_side.is_local(given):
                named.append(worker_side.local_path(given))
                continue
            one, all_files = _listed(given, storage, os.path.join(indices, str(n)))
            named.append(one)
            for name in all_files:
                companions.setdefault(posixpath.dirname(name), []).append(posixpath.basename(name))
        found = json.loads(_described(lambda: _idlewise.sweep_recordings(json.dumps(named))))
    files = []
    for file in found:
        path = file["path"]
        name, next_to_it = posixpath.basename(path), companions.get(posixpath.dirname(path), [])
        files.append(
            _File(
                json.dumps(file),
                path,
                file["by_user"],
                os.path.abspath(path) if worker_side.is_local(path) else path,
                sorted(other for other in next_to_it if worker_side.lies_next_to(other, name)),
            )
        )
    yield files


def _listed(url: str, storage: Mapping[str, Any], index: str) -> tuple[Any, list[str]]:
    """What a URL names, for the native side, and all files that are there, by their URLs."""
    # A place before an @ is no secret: abfs://container@account.
    scheme, _, rest = url.partition("://")
    if scheme in WITH_PASSWORDS and ":" in rest.partition("/")[0].rpartition("@")[0]:
        raise Error("a URL with a password would be kept with the results, and shown: give user and password by storage=")
    try:
        fs, root = worker_side.storage_of(url, storage)
        if fs.isfile(root):
            stem = os.path.splitext(url)[0]
            inputs = [stem + ".inputs" + end for end in worker_side.NEXT_TO_A_RECORDING[1:]]
            there = [u for u in (stem + ".toml", *inputs) if fs.exists(worker_side.storage_of(u, storage)[1])]
            return url, there
        below = [posixpath.relpath(file, root) for file in sorted(fs.find(root))]
        if not below:
            raise FileNotFoundError
        base = url.rstrip("/")
        there = [f"{base}/{file}" for file in below]
        if "index.toml" not in below:
            return {"folder": base, "files": below}, there
        os.mkdir(index)
        fs.get_file(posixpath.join(root, "index.toml"), os.path.join(index, "index.toml"))
        return {"corpus": base, "index": index}, there
    except FileNotFoundError:
        raise Error(f"{url}: No such file or directory") from None
    except worker_side.Unread as why:
        raise Error(str(why)) from None
    except Error:
        raise
    except Exception as error:
        # Storages raise whatever their libraries do.
        raise Error(f"{url}: {type(error).__name__}: {error}") from error


@dataclass
class _Task:
    """A recording that is read, or some settings of a case that are run."""

    file: int
    name: str
    what: str
    platform: int = 0
    key: str = ""
    settings: tuple[int, int] = (0, 0)
    facts: bool = False
    content: str | None = None
    near: str | None = None
    """The worker that has the recording."""
    avoid: set[str] = field(default_factory=set)
    """Workers that could not do it."""
    among: list[str] | None = None
    """The only workers that may do it now."""
    tries: int = 0
    first: Mapping[str, Any] | None = None
    """What it came to on the first worker, where a second does it."""


def _read_answer(there: Any, worker: str) -> dict[str, Any]:
    """The answer in what a worker sent: JSON, or else a failure of that worker."""
    try:
        # A worker in this process hands over objects as they are.
        frames = [there.data] if isinstance(there, distributed.protocol.Serialize) else [there]
        if isinstance(there, distributed.protocol.Serialized):
            header, frames = there.header, there.frames
            if header.get("serializer") != "dask" or header.get("type") != "bytes":
                raise ValueError("not bytes")
            if any(header.get("compression") or ()):
                frames = distributed.protocol.compression.decompress(header, frames)
        if not all(isinstance(frame, (bytes, bytearray, memoryview)) for frame in frames):
            raise ValueError("not bytes")
        if sum(len(frame) for frame in frames) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES} bytes")
        answer = json.loads(b"".join(frames))
        if not isinstance(answer, dict) or not isinstance(answer.get("worker"), str):
            raise ValueError("not what a task gives")
    except Exception as why:
        return {"worker": worker, "failed": f"its answer cannot be read: {why}"}
    return {**answer, "worker": worker}


@dataclass
class _Failed:
    """A task that raised."""

    error: BaseException


class _Run:
    """The tasks of a sweep on a cluster, from the first to the last."""

    def __init__(
        self, client: Any, parts: _idlewise.SweepParts, order: worker_side.Order, files: list[_File], heard: Any
    ) -> None:
        self._client = client
        self._parts = parts
        self._order = order
        self._files = files
        self._heard = heard
        self._platforms = parts.platforms
        self._cases: list[list[dict[str, Any]]] = [[] for _ in files]
        self._unread = deque(range(len(files)))
        self._waiting: deque[_Task] = deque()
        self._flying: dict[Any, _Task] = {}
        self._left: dict[str, int] = {}
        """Settings that are still to run of each case."""
        self._lost: dict[str, str] = {}
        self._lost_at: dict[str, str] = {}
        """Where it was that a named recording could not be read, by what is said of it."""
        self.left_out: list[str] = []
        """What is to be said of recordings that could not be had, and are in a folder that is named."""
        self._settings = parts.settings
        self._done = 0
        self._of = len(files) * self._platforms * self._settings
        self._computed = 0
        self._unchecked = 0
        self._kept_in: dict[str, str] = {}
        self._scheduler: str | None = None
        self._threads: dict[str, int] = {}
        self._looked = 0.0
        self._piece = MOST_SETTINGS
        self._pool: Any = None
        """Connections to workers by which results come, as bytes."""
        self._ended: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()

    def done(self) -> list[dict[str, Any]]:
        """Does all, and gives what reading told of each recording on each machine, in order."""
        try:
            self._connect()
            cases = len(self._files) * self._platforms
            pieces = -(-4 * max(1, sum(self._threads.values())) // max(1, cases))
            self._piece = min(MOST_SETTINGS, max(LEAST_SETTINGS, -(-self._settings // pieces)))
            self._step()
            while self._fill():
                for future, answer in self._next():
                    # One that was given up may end all the same.
                    task = self._flying.pop(future, None)
                    if task is not None:
                        self._handle(task, self._answer(answer, task))
                self._step()
        finally:
            self._leave()
        if self._unchecked:
            warnings.warn(
                f"{self._unchecked} of the tasks that are run twice ran once: there is no second worker",
                IdlewiseWarning,
                stacklevel=4,
            )
        for case in (case for of_file in self._cases for case in of_file):
            case["lost"] = self._lost.get(case["content"].get("key", ""))
        return [case for of_file in self._cases for case in of_file]

    def with_places(self, text: str) -> str:
        """An error about recordings, with the task and the worker that could not read each."""
        for why, where in self._lost_at.items():
            text = text.replace(why, f"{why} ({where})")
        return text

    def _step(self) -> None:
        if self._heard is not None:
            self._heard("replaying", min(self._done, self._of), self._of)

    # The cluster

    def _connect(self) -> None:
        """Sees to a scheduler that knows what workers need, and workers that can do it."""
        client = self._client
        while client.status == "connecting":
            time.sleep(0.1)
            self._step()
        if client.status != "running":
            raise Error(
                f"the scheduler {client.scheduler.address if client.scheduler else ''} is gone, and did not come back within "
                "the client's timeout (distributed.Client(..., timeout='10 minutes')); what was finished is kept, and the "
                "same call goes on"
            )
        scheduler = client.scheduler_info()["id"]
        if scheduler == self._scheduler:
            return
        found = {"the scheduler": _asked(lambda: client.run_on_scheduler(eval, VERSION))}
        found |= client.run(eval, VERSION, on_error="return")
        for who, version in found.items():
            _check_version(who, version)
        client.register_plugin(self._order, name=self._order.name)
        self._look()
        self._scheduler = scheduler

    def _look(self) -> None:
        """Which workers are there now."""
        self._threads = self._client.nthreads()
        self._looked = time.monotonic()

    def _leave(self) -> None:
        """Ends what is left, and keeps what only a second run would have confirmed."""
        for task in [*self._waiting, *self._flying.values()]:
            if task.first is not None:
                with contextlib.suppress(Exception):
                    self._keep(task, task.first)
        with contextlib.suppress(Exception):
            if self._flying:
                self._client.cancel(list(self._flying), force=True)
            for future in self._flying:
                future.release()
            if self._scheduler is not None and self._client.status == "running":
                self._client.unregister_worker_plugin(self._order.name)
            if self._pool is not None:
                self._client.sync(self._pool.close)

    # Tasks out

    def _fill(self) -> bool:
        """Sends tasks; false where none is left."""
        window = max(4, TASKS_PER_THREAD * sum(self._threads.values()))
        while len(self._flying) < window:
            if self._waiting:
                self._send(self._waiting.popleft())
            elif self._unread:
                file = self._unread.popleft()
                name = hashlib.sha256(self._files[file].json.encode()).hexdigest()
                self._send(_Task(file, f"idlewise-read-{name}", "read"))
            else:
                break
        return bool(self._flying)

    def _send(self, task: _Task) -> None:
        file = self._files[task.file]
        asked = {
            "version": _idlewise.__version__,
            "order": self._order.name,
            "what": task.what,
            "file": file.json,
            "where": file.where,
            "companions": file.companions,
            "content": task.content,
            "platform": task.platform,
            "key": task.key,
            "settings": task.settings,
            "facts": task.facts,
        }
        task.among = None
        where: dict[str, Any] = {}
        if task.avoid or task.first is not None:
            task.among = self._others(task)
            where = {"workers": task.among}
        elif task.near in self._threads:
            where = {"workers": [task.near], "allow_other_workers": True}
        again = "" if task.first is None else "-again"
        key = f"{task.name}{again}-{self._order.name[-12:]}-{task.tries}"
        future = self._client.submit(worker_side.perform, asked, key=key, pure=False, **where)
        self._flying[future] = task
        asyncio.run_coroutine_threadsafe(self._fetch(future), self._client.loop.asyncio_loop)

    async def _fetch(self, future: Any) -> None:
        """Waits for a task and for what it came to, which is on a worker: one that does not answer keeps no other waiting."""
        answer: Any
        try:
            for left in reversed(range(TRIES)):
                try:
                    answer = await self._bytes_of(future)
                    break
                except OSError:
                    # The connection, or the task itself.
                    if not left or future.status == "error" or self._client.status != "running":
                        raise
                    await asyncio.sleep(LOOK_S)
        except (Exception, asyncio.CancelledError) as error:
            answer = _Failed(error) if future.status == "error" else error
        # The sooner the scheduler hears that it arrived, the less is computed again where its worker is killed now.
        future.release()
        self._ended.put((future, answer))

    async def _bytes_of(self, future: Any) -> Any:
        """What a task gave, as it lies on its worker. Dask would unpickle it, and so run what another than our task may have
        put there; here it stays bytes until `_read_answer` has looked at them."""
        # The client need not be the default one.
        with self._client.as_current():
            await distributed.wait(future)
        if future.status != "finished":
            # Raises why.
            return await future
        who_has = await self._client.scheduler.who_has(keys=[future.key])
        workers = who_has.get(future.key)
        if not workers:
            raise OSError(f"{future.key}: no worker has it any more")
        if self._pool is None:
            self._pool = distributed.core.ConnectionPool(
                deserialize=False, connection_args=self._client.connection_args
            )
            await self._pool.start()
        got = await distributed.worker.get_data_from_worker(self._pool, [future.key], workers[0])
        if future.key not in got.get("data", {}):
            raise OSError(f"{future.key}: {workers[0]} does not give it")
        return _read_answer(got["data"][future.key], workers[0])

    def _others(self, task: _Task) -> list[str]:
        """Workers that can do what others could not, or do it a second time."""
        self._look()
        others = [w for w in self._threads if w not in task.avoid]
        if task.first is None:
            return others
        first = str(task.first["worker"])
        elsewhere = [w for w in others if w != first and _host(w) != _host(first)]
        return elsewhere or [w for w in others if w != first]

    # Answers in

    def _next(self) -> list[tuple[Any, Any]]:
        """Tasks that have ended, with what they came to."""
        if time.monotonic() - self._looked > LOOK_S and self._client.status == "running":
            self._send_elsewhere()
        ended = []
        with contextlib.suppress(queue.Empty):
            ended.append(self._ended.get(timeout=0.05))
            while True:
                ended.append(self._ended.get_nowait())
        if not ended and self._client.status not in ("running", "connecting"):
            self._connect()
        return ended

    def _send_elsewhere(self) -> None:
        """Tasks that only workers may do that are gone."""
        with contextlib.suppress(OSError):
            self._look()
        for future, task in list(self._flying.items()):
            if task.among is not None and not any(worker in self._threads for worker in task.among):
                del self._flying[future]
                self._client.cancel([future], force=True)
                task.tries += 1
                self._again(task)

    def _answer(self, answer: Any, task: _Task) -> Mapping[str, Any] | None:
        """What a task came to; None where it is to be sent again."""
        if isinstance(answer, dict):
            return answer
        if isinstance(answer, _Failed):
            error = answer.error
            if isinstance(error, distributed.scheduler.KilledWorker):
                return {"worker": "", "unread": f"{self._files[task.file].path}: {error}"}
            raise Error(f"{task.name}: {type(error).__name__}: {error}") from error
        # The scheduler is another one now, or the connection broke.
        if isinstance(answer, Exception) and not isinstance(answer, OSError) and task.tries >= TRIES:
            raise Error(f"{task.name}: {type(answer).__name__}: {answer}") from answer
        return None

    def _handle(self, task: _Task, answer: Mapping[str, Any] | None) -> None:
        if answer is None:
            self._connect()
            task.tries += 1
            self._again(task)
        elif "version" in answer:
            _check_version(str(answer["worker"]), answer["version"])
        elif "unknown" in answer:
            task.tries += 1
            if task.tries > TRIES:
                raise Error(f"{answer['worker']}: it does not get what tasks need; see its log")
            self._client.register_plugin(self._order, name=self._order.name)
            self._again(task)
        elif "full" in answer:
            task.avoid.add(str(answer["worker"]))
            task.tries += 1
            if not self._others(task) and task.first is None:
                raise Error(
                    f"{answer['worker']}: {answer['full']}; no worker has room for {self._files[task.file].path} of task "
                    f"{task.name} (cache= names a folder on a larger disk)"
                )
            self._again(task)
        elif "unreachable" in answer:
            task.tries += 1
            if task.tries < TRIES:
                self._again(task)
            else:
                self._handle(task, {"worker": answer["worker"], "unread": answer["unreachable"]})
        elif "failed" in answer:
            raise Error(f"{answer['failed']} ({_place(task, answer)})")
        elif task.what == "read":
            self._read(task, answer)
        else:
            self._ran(task, answer)

    def _again(self, task: _Task) -> None:
        if task.first is not None and not self._others(task):
            self._unchecked += 1
            self._finish(task, task.first)
        else:
            self._waiting.appendleft(task)

    def _read(self, task: _Task, answer: Mapping[str, Any]) -> None:
        file = self._files[task.file]
        if "unread" in answer:
            refused = {"file": json.loads(file.json), "platform": None, "lost": None}
            cases = [{**refused, "content": {"refused": answer["unread"]}}] * self._platforms
            if not file.by_user:
                self.left_out.append(f"{answer['unread']} ({_place(task, answer)}): left out")
        else:
            cases = answer["cases"]
        self._cases[task.file] = cases
        for platform, case in enumerate(cases):
            content = case["content"]
            if "refused" in content:
                if file.by_user:
                    raise Error(f"{content['refused']} ({_place(task, answer)}){self._only_here(file)}")
                content["refused"] += self._only_here(file)
                self._done += self._settings
            elif content["key"] in self._left:
                # It is left out as the second of its kind.
                self._done += self._settings
            else:
                self._divide(task, platform, content["key"], answer)

    def _only_here(self, file: _File) -> str:
        """What to do about a recording that a worker does not find."""
        if worker_side.is_local(file.where) and os.path.exists(file.where) and not self._any_has(file.where):
            return "; it is here, and no worker has it: name a folder that they share, or a URL"
        return ""

    def _any_has(self, where: str) -> bool:
        there = self._client.run(os.path.exists, where, on_error="ignore")
        return any(there.values())

    def _divide(self, task: _Task, platform: int, key: str, answer: Mapping[str, Any]) -> None:
        """Makes tasks of what is not kept yet of a case."""
        facts, ranges = self._parts.todo(key)
        self._left[key] = sum(end - start for start, end in ranges)
        self._done += self._settings - self._left[key]
        if facts and not ranges:
            ranges = [(0, 0)]
        pieces = [
            (at, min(at + self._piece, end)) for start, end in ranges for at in range(start, max(end, start + 1), self._piece)
        ]
        # Where there is one, it goes to who has the recording.
        near = answer["worker"] if answer["content"] is not None and len(pieces) == 1 else None
        for start, end in pieces:
            name = f"idlewise-run-{key}-{start}-{end}"
            self._waiting.append(_Task(task.file, name, "run", platform, key, (start, end), facts, answer["content"], near))
            facts = False

    def _ran(self, task: _Task, answer: Mapping[str, Any]) -> None:
        if task.key in self._lost:
            # Another part of it said so; what was computed before stays.
            if "lines" in answer:
                self._keep(task, answer)
        elif "unread" in answer:
            if task.first is not None:
                self._keep(task, task.first)
            self._lose(task, str(answer["unread"]), _place(task, answer))
        elif task.first is None and self._needs_a_second_run():
            task.first = answer
            task.tries = 0
            self._again(task)
        else:
            if task.first is not None:
                self._compare(task, task.first, answer)
            self._finish(task, answer)

    def _needs_a_second_run(self) -> bool:
        """Whether another worker computes the task that has just ended, too: the first one, and then one in so many."""
        self._computed += 1
        return self._computed % CHECK_EVERY == 1 % CHECK_EVERY

    def _lose(self, task: _Task, why: str, where: str) -> None:
        self._lost[task.key] = why
        if self._files[task.file].by_user:
            self._lost_at[why] = where
        else:
            self.left_out.append(f"{why} ({where}): left out")
        self._done += self._left[task.key]
        self._left[task.key] = 0
        for other in [other for other in self._waiting if other.key == task.key]:
            self._waiting.remove(other)
            if other.first is not None:
                self._keep(other, other.first)

    def _finish(self, task: _Task, answer: Mapping[str, Any]) -> None:
        self._keep(task, answer)
        settings = task.settings[1] - task.settings[0]
        self._left[task.key] -= settings
        self._done += settings

    def _keep(self, task: _Task, answer: Mapping[str, Any]) -> None:
        try:
            path = self._parts.keep(task.key, str(answer["lines"]), str(answer["worker"]))
        except OSError as why:
            raise Error(str(why)) from None
        self._kept_in[str(answer["worker"])] = os.fspath(path)

    def _compare(self, task: _Task, first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
        before, after = (str(answer["lines"]).splitlines() for answer in (first, second))
        if before == after:
            return
        task.first = None
        pairs = enumerate(zip(before, after))
        n, one, other = next(((n, a, b) for n, (a, b) in pairs if a != b), (0, "nothing", "something"))
        n -= int(task.facts)
        what = self._parts.setting(task.settings[0] + n) if n >= 0 else "what is known of the recording"
        files = " and ".join(sorted({self._kept_in[w] for w in (first["worker"], second["worker"]) if w in self._kept_in}))
        raise Error(
            f"{task.name}: {what} on {self._files[task.file].path} gives {_short(one)} on worker {first['worker']}, and "
            f"{_short(other)} on worker {second['worker']}: one of these machines does not compute right. Nothing of this task is "
            f"kept" + (f"; {files} keep what else they computed: remove those that you do not trust" if files else "")
        )


def _place(task: _Task, answer: Mapping[str, Any]) -> str:
    """Who was to do what."""
    # Where workers died over it, the scheduler names the last.
    on = f" on worker {answer['worker']}" if answer["worker"] else ""
    return f"task {task.name}{on}"


def _short(line: str) -> str:
    said = json.loads(line) if line.startswith("{") else line
    shown = {k: said[k] for k in ("facts", "numbers", "failure") if k in said} if isinstance(said, dict) else said
    return json.dumps(shown)


def _asked(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except Exception as error:
        return error


def _check_version(who: str, version: Any) -> None:
    if isinstance(version, ImportError):
        raise Error(f"{who} has no idlewise: install {_idlewise.__version__} there, as here ({version})")
    if isinstance(version, Exception):
        raise Error(f"{who} does not say which version of idlewise it has: {type(version).__name__}: {version}")
    if version != _idlewise.__version__:
        raise Error(f"{who} has idlewise {version}, and this is {_idlewise.__version__}: install the same version on both")


def _host(address: str) -> str:
    return address.rsplit("://", 1)[-1].rsplit(":", 1)[0]
