# SPDX-License-Identifier: GPL-2.0-only
"""What workers of a Dask cluster do for a sweep: they fetch recordings, keep them by their content, and run settings on them."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import importlib
import json
import os
import posixpath
import shutil
import tempfile
import threading
import time
import tomllib
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from . import _idlewise

distributed: Any = importlib.import_module("distributed")

NEXT_TO_A_RECORDING = (".toml", ".csv", ".csv.gz", ".csv.xz")
"""How the names of files end that belong to a recording whose name begins as theirs."""

SCHEMES = ("file", "https", "s3", "gs", "abfs")
"""What may stand before :// in a URL: storages that give bytes, and nothing that is made of other URLs or of templates."""

ABANDONED_S = 24 * 3600.0
"""A download that nobody has written to for so long is of a process that was killed."""


class Unread(Exception):
    """A recording that is not there, or is another one now."""


class Unreachable(Exception):
    """A storage that does not answer as it should."""


class Full(Exception):
    """No room for a recording on a worker's disk."""


def is_local(where: str) -> bool:
    return "://" not in where or where.startswith(("file://", "local://"))


def local_path(where: str) -> str:
    return where.split("://", 1)[-1]


def storage_of(where: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    fsspec = importlib.import_module("fsspec")
    scheme, _, rest = where.partition("://")
    if scheme not in SCHEMES or "::" in where:
        raise Unread(f"{where}: not one URL that begins with {', '.join(f'{s}://' for s in SCHEMES)}")
    # An index of a corpus may lead out of its folder, but to no other host or bucket: these are not given what opens this one.
    host, _, inside = rest.partition("/")
    path = posixpath.normpath("/" + inside.lstrip("/"))
    fs, path = fsspec.core.url_to_fs(f"{scheme}://{host}{path}", **options)
    return fs, path


def lies_next_to(name: str, recording: str) -> bool:
    """Whether the file `name` belongs to the recording of that name in the same folder."""
    stem = os.path.splitext(recording)[0]
    return name != recording and name.startswith(stem + ".") and name.endswith(NEXT_TO_A_RECORDING)


class Cache:
    """Recordings on a local disk, each by the content of it and of what lies next to it, up to a bound.

    Several processes may share a folder. An entry is a folder; whoever uses it holds a lock of it, and only what nobody holds is
    removed, what was used longest ago first.
    """

    def __init__(self, folder: str, bound: int, storage: Mapping[str, Any]) -> None:
        self.folder = folder
        self._bound = bound
        self._storage = storage
        self._lock = threading.Lock()

    @contextmanager
    def recording(self, where: str, companions: list[str], content: str | None) -> Iterator[tuple[str, str | None]]:
        """Where the recording is at hand, and what it is kept by. `content` is what it must be kept by, if that is known."""
        if is_local(where):
            yield local_path(where), None
            return
        name = posixpath.basename(where)
        held = None if content is None else self._hold(content)
        if held is None:
            content, held = self._fetch(where, companions, content)
        try:
            assert content is not None
            yield os.path.join(self.folder, content, name), content
        finally:
            os.close(held)

    def _hold(self, content: str) -> int | None:
        """A shared lock of an entry, which is used now; None where it is not there."""
        entry = os.path.join(self.folder, content)
        if not os.path.isdir(entry):
            return None
        lock = os.open(entry + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_SH)
        try:
            os.utime(entry)
        except FileNotFoundError:
            os.close(lock)
            return None
        return lock

    def _fetch(self, where: str, companions: list[str], content: str | None) -> tuple[str, int]:
        fs, path = _opened(where, self._storage)
        try:
            return self._download(fs, path, where, companions, content)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
        self._make_room(None)
        try:
            return self._download(fs, path, where, companions, content)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise Full(f"{self.folder}: {os.strerror(error.errno)}") from None

    def _download(
        self, fs: Any, path: str, where: str, companions: list[str], expected: str | None
    ) -> tuple[str, int]:
        size = _asked(lambda: fs.size(path), where) or 0
        if size > self._bound:
            raise Full(f"{self.folder}: {where} has {size} bytes, and cache_bytes allows {self._bound}")
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        self._make_room(size)
        new = tempfile.mkdtemp(prefix=".new-", dir=self.folder)
        try:
            name = posixpath.basename(path)
            left = self._bound

            def get(path: str, name: str) -> None:
                nonlocal left
                size = _asked(
                    lambda: _copied(fs, path, os.path.join(new, name), left),
                    where if path.endswith(posixpath.basename(where)) else path,
                )
                if size is None:
                    raise Full(f"{self.folder}: {where} has more than the {self._bound} bytes of cache_bytes")
                left -= size

            get(path, name)
            fetched = [name]
            for other in companions:
                get(posixpath.join(posixpath.dirname(path), other), other)
                fetched.append(other)
            for other in _named_in(os.path.join(new, os.path.splitext(name)[0] + ".toml")):
                if other not in fetched:
                    other_path = posixpath.join(posixpath.dirname(path), other)
                    with suppress(Unread):
                        get(other_path, other)
                        fetched.append(other)
            # A storage may not say how much it is, or too little.
            self._make_room(self._bound - left)
            content = _content(new, fetched)
            if expected is not None and content != expected:
                raise Unread(f"{where}: it, or its side-car, was changed since the sweep found it")
            entry = os.path.join(self.folder, content)
            # Another thread or process may have brought the same.
            with suppress(OSError):
                os.rename(new, entry)
            held = self._hold(content)
            if held is None:
                raise Unreachable(f"{where}: what was fetched of it is no longer in {self.folder}")
            return content, held
        finally:
            shutil.rmtree(new, ignore_errors=True)

    def _make_room(self, size: int | None) -> None:
        """For so many bytes more; None: all that can be."""
        with self._lock:
            entries = []
            for found in os.scandir(self.folder):
                if not found.is_dir(follow_symlinks=False):
                    continue
                with suppress(FileNotFoundError):
                    used = found.stat().st_mtime
                    if found.name.startswith(".new-"):
                        if time.time() - used > ABANDONED_S:
                            shutil.rmtree(found.path, ignore_errors=True)
                        continue
                    entries.append((used, found.path, sum(f.stat().st_size for f in os.scandir(found.path))))
            left = sum(bytes_ for _, _, bytes_ in entries)
            for _, entry, bytes_ in sorted(entries):
                if size is not None and left + size <= self._bound:
                    return
                if _removed(entry):
                    left -= bytes_
            if size is not None and left + size > self._bound:
                raise Full(f"{self.folder}: all that it keeps is in use, and cache_bytes allows {self._bound}")


def _removed(entry: str) -> bool:
    lock = os.open(entry + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        # Under another name first: nobody finds half of it.
        going = f"{os.path.dirname(entry)}/.new-{uuid.uuid4().hex}"
        with suppress(FileNotFoundError):
            os.rename(entry, going)
        shutil.rmtree(going, ignore_errors=True)
        return True
    finally:
        os.close(lock)


def _named_in(sidecar: str) -> list[str]:
    """Files next to a recording that its side-car names."""
    try:
        with open(sidecar, "rb") as file:
            said = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        # Whoever reads the recording says so.
        return []
    inputs = said.get("inputs")
    names = [said.get("platform"), inputs.get("file") if isinstance(inputs, dict) else None]
    return [n for n in names if isinstance(n, str) and "." in n and "/" not in n]


def _content(folder: str, names: list[str]) -> str:
    """SHA-256 of the files, by their names."""
    all_ = hashlib.sha256()
    for name in sorted(names):
        with open(os.path.join(folder, name), "rb") as file:
            all_.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return all_.hexdigest()


def _opened(where: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    try:
        return storage_of(where, options)
    except ImportError as error:
        raise Unreachable(f"{where}: {error}") from error


def _copied(fs: Any, path: str, to: str, most: int) -> int | None:
    """Copies a file of a storage: how many bytes it has; None where it has more than so many."""
    size = 0
    with fs.open(path, "rb") as file, open(to, "xb") as copy:
        while block := file.read(1 << 20):
            size += len(block)
            if size > most:
                return None
            copy.write(block)
    return size


def _asked(question: Any, where: str) -> Any:
    """What the storage answers."""
    try:
        return question()
    except FileNotFoundError:
        raise Unread(f"{where}: No such file or directory") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Unreachable(f"{where}: {error}") from error
    except Exception as error:
        # Storages raise whatever their libraries do.
        raise Unreachable(f"{where}: {type(error).__name__}: {error}") from error


class Order(distributed.WorkerPlugin):  # type: ignore[misc]
    """What the parts of a sweep need, sent to each worker once: tasks name it and recordings."""

    def __init__(
        self,
        order: str,
        code: dict[str, bytes],
        storage: Mapping[str, Any],
        cache: str | None,
        cache_bytes: int,
    ) -> None:
        self.name = f"idlewise-{uuid.uuid4().hex}"
        self._order = order
        self._code = code
        self._storage = dict(storage)
        self._folder = cache
        self._bound = cache_bytes

    def setup(self, worker: Any) -> None:
        # Nothing is made before it is needed: a worker must not fail here.
        self._making = threading.Lock()
        self._place: Any = None
        own = os.path.join(worker.local_directory, "idlewise")
        self._own = own
        self._cache = Cache(self._folder or own, self._bound, self._storage)

    def __getstate__(self) -> dict[str, Any]:
        sent = ("name", "_order", "_code", "_storage", "_folder", "_bound")
        return {name: vars(self)[name] for name in sent}

    def _workplace(self) -> Any:
        with self._making:
            if self._place is None:
                try:
                    os.makedirs(self._own, mode=0o700, exist_ok=True)
                    folder = tempfile.mkdtemp(prefix="machines-", dir=self._own)
                    self._place = _idlewise.SweepWorkplace(self._order, self._code, folder)
                except OSError as error:
                    raise Full(f"{self._own}: {os.strerror(error.errno or 0)}") from error
            return self._place

    def perform(self, task: Mapping[str, Any]) -> dict[str, Any]:
        try:
            place = self._workplace()
            with self._cache.recording(task["where"], task["companions"], task["content"]) as (here, content):
                if task["what"] == "read":
                    read = json.loads(place.read(task["file"], here))
                    return {"cases": read["cases"], "bytes": read["bytes"], "content": content}
                lines, failure = place.run(
                    task["file"], here, task["platform"], task["key"], *task["settings"], task["facts"]
                )
        except Unread as why:
            return {"unread": str(why)}
        except Unreachable as why:
            return {"unreachable": str(why)}
        except Full as why:
            return {"full": str(why)}
        except ValueError as why:
            full = f"os error {errno.ENOSPC}" in str(why)
            return {"full" if full else "failed": str(why)}
        if failure is None:
            return {"lines": lines}
        of_recording, reason = failure
        return {"unread" if of_recording else "failed": reason}


def perform(task: Mapping[str, Any]) -> bytes:
    """One task, on a worker. What it came to, or why not, and who did it: as JSON, which the client reads and nothing else."""
    worker = distributed.get_worker()
    answer: dict[str, Any] = {"worker": worker.address}
    if task["version"] != _idlewise.__version__:
        answer["version"] = _idlewise.__version__
    else:
        order = worker.plugins.get(task["order"])
        answer |= {"unknown": task["order"]} if order is None else order.perform(task)
    return json.dumps(answer).encode()
