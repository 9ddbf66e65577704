# SPDX-License-Identifier: GPL-2.0-only
"""A Dask cluster in processes of its own, and a storage, for tests; what its workers execute is written down."""

from __future__ import annotations

import collections
import contextlib
import datetime
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import distributed

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE_S = 120
QUIET = {
    "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "False",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "20",
    "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "1h",
}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Executions(distributed.WorkerPlugin):  # type: ignore[misc]
    """Writes down which task begins and ends where, a file for each process."""

    name = "executions"

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def setup(self, worker: Any) -> None:
        self.worker = worker.address
        self.file = open(os.path.join(self.folder, f"{os.getpid()}.jsonl"), "a", buffering=1)

    def transition(self, key: str, start: str, finish: str, **_: Any) -> None:
        if finish == "executing":
            self._say("begins", key)
        elif start == "executing" and finish == "memory":
            self._say("ends", key)

    def _say(self, what: str, key: str) -> None:
        self.file.write(json.dumps({"what": what, "key": key, "at": time.time(), "worker": self.worker}) + "\n")


class Cluster:
    """A scheduler and workers with a thread each."""

    def __init__(self, workers: int, security: Any = None, flags: tuple[str, ...] = ()) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="idlewise-cluster-")
        self.root = pathlib.Path(self.folder.name)
        self.security = security
        self.flags = flags
        self.scheme = "tcp" if security is None else "tls"
        self.address = f"{self.scheme}://127.0.0.1:{free_port()}"
        self.executions = self.root / "executions"
        self.executions.mkdir()
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.scheduler = self.start_scheduler()
        for n in range(workers):
            self.start_worker(f"w{n}")
        self.client = self.connect()
        self.client.wait_for_workers(workers, timeout=PATIENCE_S)

    def connect(self) -> Any:
        client = distributed.Client(self.address, security=self.security, timeout=PATIENCE_S, set_as_default=False)
        client.register_plugin(Executions(str(self.executions)))
        return client

    def _start(self, program: str, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        with open(self.root / f"{name}.log", "ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{program}", *arguments, *self.flags],
                stdout=log,
                stderr=log,
                env={**os.environ, **QUIET, "PYTHONPATH": path},
                cwd=self.root,
            )

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        where, port = self.address.rsplit(":", 1)
        return self._start("scheduler", "scheduler", "--host", where, "--port", port, "--no-dashboard")

    def start_worker(self, name: str, folder: pathlib.Path | None = None) -> None:
        own = folder or self.root / name
        own.mkdir(exist_ok=True)
        usual = ("--nthreads", "1", "--nworkers", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")
        words = (self.address, "--name", name, "--local-directory", str(own), *usual)
        self.workers[name] = self._start("worker", name, *words)

    def kill(self, name: str) -> None:
        self.workers[name].kill()
        self.workers.pop(name).wait()

    def executed(self, what: str = "ends") -> list[dict[str, Any]]:
        """Of all tasks but those that read recordings, in the order of time."""
        lines = [line for file in self.executions.iterdir() for line in file.read_text().splitlines() if line.endswith("}")]
        said = [json.loads(line) for line in lines]
        return sorted((s for s in said if s["what"] == what and "-run-" in s["key"]), key=lambda s: s["at"])

    def forget(self) -> None:
        for file in self.executions.iterdir():
            os.truncate(file, 0)

    def log(self) -> str:
        return "\n".join(f"--- {f.name}\n{f.read_text()}" for f in sorted(self.root.glob("*.log")))

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.client.close(timeout=5)
        for process in [*self.workers.values(), self.scheduler]:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        self.folder.cleanup()


def name_of(key: str) -> str:
    """The task that a key of Dask's stands for, without the call and the try."""
    return key.rsplit("-", 2)[0]


def call_of(key: str) -> str:
    """The call of a sweep that a key of Dask's belongs to."""
    return key.rsplit("-", 2)[1]


def twice(executions: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The tasks that were to be run twice, each with the workers that did it."""
    workers: dict[str, list[str]] = collections.defaultdict(list)
    for one in executions:
        workers[name_of(one["key"]).removesuffix("-again")].append(one["worker"])
    return {name: by for name, by in workers.items() if len(by) > 1}


@contextlib.contextmanager
def storage() -> Iterator[dict[str, Any]]:
    """A server that speaks S3, with a bucket `idlewise`; gives the options of fsspec for it."""
    import s3fs

    url = f"http://127.0.0.1:{free_port()}"
    words = ["-m", "moto.server", "-H", "127.0.0.1", "-p", url.rsplit(":", 1)[1]]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen([sys.executable, *words], stdout=log, stderr=log)
        try:
            until = time.monotonic() + PATIENCE_S
            while True:
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(url, timeout=5).close()
                    break
                if time.monotonic() > until or server.poll() is not None:
                    log.seek(0)
                    raise AssertionError(f"the storage does not start: {log.read().decode()}")
                time.sleep(0.1)
            options = {"key": "testing", "secret": "testing", "endpoint_url": url}
            s3fs.S3FileSystem(**options, skip_instance_cache=True).mkdir("idlewise")
            yield options
        finally:
            server.kill()
            server.wait()


def certificates(folder: pathlib.Path) -> Any:
    """Keys and certificates of a cluster, made for it alone."""
    import trustme

    authority = trustme.CA()
    own = authority.issue_cert("127.0.0.1", not_after=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1))
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    own.private_key_and_cert_chain_pem.write_to_path(str(folder / "own.pem"))
    of = dict.fromkeys(("tls_client", "tls_worker", "tls_scheduler"))
    files = {f"{who}_{what}": str(folder / "own.pem") for who in of for what in ("cert", "key")}
    return distributed.Security(tls_ca_file=str(folder / "ca.pem"), require_encryption=True, **files)


def tls_flags(folder: pathlib.Path) -> tuple[str, ...]:
    own = str(folder / "own.pem")
    return ("--tls-ca-file", str(folder / "ca.pem"), "--tls-cert", own, "--tls-key", own)
