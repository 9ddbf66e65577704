#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tries contrib/prometheus on a real Prometheus and real node exporters:

    prometheus-test.py PROGRAMS IDLEWISE

PROGRAMS is a folder that tools/prometheus.sh made. Two node exporters read the files of `idlewise top --prometheus`: one of a machine
that is made up here, with power meters and counters that grow at known rates; one of this machine, if it has idle states. Each query
of the dashboard and each rule has to return data of the former, and the values have to be those rates.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path
from socket import socket

CONTRIB = Path(__file__).resolve().parent.parent / "contrib/prometheus"
SECONDS = 45
# What the made-up machine does on each of its two CPUs, a second: entries, too deep, too shallow, refused, us in the state.
RATES = {"usage": 100, "above": 30, "below": 10, "rejected": 5, "time": 400_000}
WATTS = 15


def free_port():
    with socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Machine:
    """Files as a kernel with two CPUs and two states has them; the deeper state is used."""

    def __init__(self, root):
        self.root, self.begun = root, time.monotonic()
        cpu = "sys/devices/system/cpu"
        self.write(f"{cpu}/cpuidle/current_driver", "made_up")
        self.write(f"{cpu}/cpuidle/current_governor", "teo")
        self.write("proc/sys/kernel/osrelease", "6.12.0")
        self.write(f"{cpu}/online", "0-1")
        for number in (0, 1):
            for state, name in enumerate(["POLL", "C6"]):
                folder = f"{cpu}/cpu{number}/cpuidle/state{state}"
                self.write(f"{folder}/name", name)
                for file in [*RATES, "disable", "latency", "residency"]:
                    self.write(f"{folder}/{file}", 0)
        self.write("sys/class/powercap/intel-rapl:0/name", "package-0")
        self.write("sys/class/hwmon/hwmon0/name", "ina3221")
        self.write("sys/class/hwmon/hwmon0/power1_label", "VDD_CPU")
        self.write("sys/class/hwmon/hwmon0/power1_input", 2_500_000)
        self.tick()

    def write(self, path, value):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")

    def tick(self):
        passed = time.monotonic() - self.begun
        for number in (0, 1):
            for file, rate in RATES.items():
                self.write(f"sys/devices/system/cpu/cpu{number}/cpuidle/state1/{file}", int(rate * passed))
        self.write("sys/class/powercap/intel-rapl:0/energy_uj", int(WATTS * 1e6 * passed))

    def run(self, over):
        while not over.wait(0.2):
            self.tick()


class Server:
    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}/api/v1"

    def get(self, what, **arguments):
        with urllib.request.urlopen(f"{self.url}/{what}?{urllib.parse.urlencode(arguments)}", timeout=10) as answer:
            return json.load(answer)["data"]

    def query(self, text):
        """The labels and the value of each series."""
        found = self.get("query", query=text)["result"]
        return [(one["metric"], float(one["value"][1])) for one in found]

    def wait(self):
        for _ in range(100):
            try:
                return self.get("status/buildinfo")
            except OSError:
                time.sleep(0.1)
        sys.exit("prometheus-test.py: Prometheus does not answer")


def panels():
    """(title, query) of each query of the dashboard, its variables as Grafana fills them in."""
    for panel in json.loads((CONTRIB / "dashboard.json").read_text())["panels"]:
        for target in panel["targets"]:
            text = target["expr"].replace("$__rate_interval", "20s").replace("$instance", ".*").replace("$cluster", ".*")
            yield panel["title"], text


def check(server, instances):
    wrong = []

    def asserted(true, what):
        if not true:
            wrong.append(what)

    made_up, shown = instances[0], {}
    for title, text in panels():
        found = server.query(text)
        its = [value for labels, value in found if labels.get("instance") == made_up]
        shown.setdefault(title, []).extend(its)
        print(f"{title}: {len(found)} series, {', '.join(f'{value:.4g}' for value in its)}")
        asserted(its, f"the panel {title!r} has no data: {text}")
        for other in instances[1:]:
            if "energy" not in text and "power" not in text:
                asserted(any(labels.get("instance") == other for labels, _ in found), f"{title!r} has no data of this machine")

    def near(what, values, expected):
        ok = any(abs(value - expected) <= 0.05 * expected for value in values)
        asserted(ok, f"{what} is {values} instead of {expected}")

    for group in server.get("rules")["groups"]:
        for rule in group["rules"]:
            asserted(rule["health"] == "ok", f"the rule {rule['name']}: {rule.get('lastError')}")
            if rule["type"] == "recording":
                asserted(server.query(rule["name"]), f"the rule {rule['name']} has no data")
    entries = RATES["usage"]
    for title, expected in [
        ("Wakeups a second", 2 * entries),
        ("Time in idle states", RATES["time"] / 1e6),
        ("Too deep", RATES["above"] / entries),
        ("Too shallow", RATES["below"] / entries),
        ("Refused entries a second", 2 * RATES["rejected"]),
        ("Busiest CPUs", entries),
        ("Power", WATTS),
        ("Energy for each wakeup", WATTS / (2 * entries)),
    ]:
        near(title, shown[title], expected)
    # Rates of five minutes are of less, so far; shares are not.
    for name, counter in [("too_deep", "above"), ("too_shallow", "below"), ("rejected", "rejected")]:
        rule = f"instance_cluster:idlewise_cpuidle_{name}:ratio5m"
        values = [value for labels, value in server.query(rule) if labels["instance"] == made_up]
        near(rule, values, RATES[counter] / entries)
    # What an alert asks of node_exporter is there, too; the file is new.
    fresh = [value for _, value in server.query('time() - node_textfile_mtime_seconds{file=~".*/idlewise[.]prom"}')]
    asserted(len(fresh) == len(instances) and max(fresh) < 30, f"ages of the files: {fresh}")
    return wrong


def main(programs, idlewise):
    programs = Path(programs).resolve()
    for arguments in (["check", "rules", "idlewise.rules.yml"], ["test", "rules", "idlewise.rules.test.yml"]):
        subprocess.run([programs / "promtool", *arguments], cwd=CONTRIB, check=True)
    started, over = [], threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        machine = Machine(folder / "machine")
        roots = [machine.root]
        if any(Path("/sys/devices/system/cpu/cpu0").glob("cpuidle/state*")):
            roots.append(Path("/"))
        else:
            print("this machine has no idle states: only the made-up one is scraped")
        log = open(folder / "log", "w")

        def start(*command):
            started.append(subprocess.Popen([str(word) for word in command], stdout=log, stderr=log))

        try:
            threading.Thread(target=machine.run, args=(over,), daemon=True).start()
            targets = []
            for number, root in enumerate(roots):
                texts, port = folder / f"texts{number}", free_port()
                texts.mkdir()
                targets.append(f"127.0.0.1:{port}")
                start(idlewise, "top", "--prometheus", texts / "idlewise.prom", "--interval", "1", "--root", root)
                start(programs / "prometheus-node-exporter", f"--web.listen-address={targets[-1]}", "--collector.disable-defaults",
                      "--collector.textfile", f"--collector.textfile.directory={texts}")
            config = {
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                "rule_files": [str(CONTRIB / "idlewise.rules.yml")],
                "scrape_configs": [{"job_name": "node", "static_configs": [{"targets": targets}]}],
            }
            (folder / "prometheus.yml").write_text(json.dumps(config))
            port = free_port()
            start(programs / "prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
                  f"--web.listen-address=127.0.0.1:{port}")
            server = Server(port)
            version = server.wait()["version"]
            print(f"Prometheus {version} scrapes {len(targets)} node exporters for {SECONDS} s")
            time.sleep(SECONDS)
            wrong = check(server, targets)
            if wrong:
                log.flush()
                print("\n".join(wrong), *(folder / "log").read_text().splitlines()[-20:], sep="\n", file=sys.stderr)
                sys.exit(1)
            print("every panel and every rule has data, and the values are right")
        finally:
            over.set()
            for process in reversed(started):
                process.terminate()
            for process in started:
                process.wait(timeout=20)


main(*sys.argv[1:])
