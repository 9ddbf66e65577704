# SPDX-License-Identifier: GPL-2.0-only
"""Search of a governor's parameters on a corpus, by Optuna, with a verdict on machines that the search has not seen."""

from __future__ import annotations

import html
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Union

from . import _commands
from ._call import Progress, Value
from ._commands import corpus_run
from ._recording import Recording
from ._progress import Bar
from ._result import Error

if TYPE_CHECKING:
    import optuna

MEASURES = {
    "energy": None,
    "latency_mean": ("latency", "mean_ns"),
    "latency_p99": ("latency", "p99_ns"),
    "too_deep": ("too_deep_pct",),
    "too_shallow": ("too_shallow_pct",),
    "wakeups": ("wakeups",),
}
"""What can be an objective, or limited, and where a score has it. Less is better in all of them."""

Trace = Union[str, "os.PathLike[str]", Recording]

UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
POINTS = ("too_deep", "too_shallow")
# After so many settings of which none could be run the others are not tried.
HOPELESS = 10
# How a tape begins (docs/reference/tape-format.md).
TAPE = b"IWTAPE"


@dataclass(frozen=True)
class Change:
    """How a governor differs from the baseline in a measure, over the recordings of a part of the corpus.

    `mean` is in % (percentage points for too_deep and too_shallow). `low` and `high` are the ends of its 95 % interval, resampled
    over machines, or over the recordings of one; None with two to four machines. `shown` is falls, rises, nothing (the
    interval holds 0), equivalent (within 1 %), the same, or None without an interval.
    """

    mean: float
    low: float | None
    high: float | None
    shown: str | None

    unit: str = "%"

    def __str__(self) -> str:
        mark = {"nothing": " ~", "equivalent": " =", None: " ?"}.get(self.shown, "")
        return f"{self.mean:+.1f}{self.unit}{mark}"


@dataclass(frozen=True)
class Setting:
    """A governor with its parameters, and what it comes to against the baseline."""

    governor: str
    params: dict[str, Any]
    train: dict[str, Change]
    validation: dict[str, Change] = field(default_factory=dict)
    broken: dict[str, float] = field(default_factory=dict)
    """Constraints that it does not keep on the machines of the validation, and by how much."""

    def carries_over(self, measure: str) -> bool | None:
        """Whether a gain in training is shown on the validation's machines, too. None where training gained nothing, or where the
        validation has no interval, so that its gain is not shown."""
        there = self.validation[measure]
        if not self.train[measure].mean < 0.0 or (there.mean < 0.0 and there.shown is None):
            return None
        return there.mean < 0.0 and there.shown not in ("nothing", "equivalent")

    def gains_there(self, measure: str) -> bool:
        """Whether it gains in training, and the mean on the validation's machines does not speak against it."""
        return self.train[measure].mean < 0.0 and self.validation[measure].mean < 0.0 and self.carries_over(measure) is not False


@dataclass(frozen=True)
class Constraint:
    """`MEASURE <= LIMIT`: a change from the baseline such as +2%, or for latencies a time such as 100us in every recording."""

    text: str
    measure: str
    limit: float
    absolute: bool

    @classmethod
    def read(cls, text: str) -> Constraint:
        """ValueError where it is none."""
        parts = re.fullmatch(r"\s*(\w+)\s*<=?\s*([+-]?[0-9]+(?:\.[0-9]+)?)\s*(%|pp|ns|us|ms|s)\s*", text)
        if parts is None or parts[1] not in MEASURES:
            raise ValueError(
                f"constraint {text!r}: expected MEASURE <= LIMIT, such as 'latency_p99 <= 100us' or "
                f"'latency_mean <= +2%'; measures are {', '.join(MEASURES)}"
            )
        measure, number, unit = parts[1], float(parts[2]), parts[3]
        if unit in UNITS:
            if not measure.startswith("latency"):
                raise ValueError(f"constraint {text!r}: {measure} is no time; expected a change such as +2%")
            return cls(text, measure, number * UNITS[unit], absolute=True)
        if (unit == "pp") != (measure in POINTS):
            expected = "percentage points (+1pp)" if measure in POINTS else "a change in % (+2%)"
            raise ValueError(f"constraint {text!r}: expected {expected}")
        return cls(text, measure, number, absolute=False)

    def excess(self, part: Part, governor: str) -> float:
        """By how much it is not kept, as a share of the limit or in points; none below 0."""
        if not self.absolute:
            return part.change(governor, self.measure).mean - self.limit
        worst = part.worst(governor, self.measure)
        return (worst - self.limit) / self.limit if self.limit > 0.0 else worst


class Part:
    """Governors on a part of the corpus."""

    def __init__(self, run: Any) -> None:
        self.machines = {r["machine"] for r in run["recordings"]}
        self.recordings = len(run["recordings"])
        self.baseline = run["baseline"]
        self._changes = {(c["governor"], c["column"]): c for c in run["change"]}
        self._run = run

    def change(self, governor: str, measure: str) -> Change:
        one = self._changes.get((governor, measure))
        unit = "pp" if measure in POINTS else "%"
        if governor == self.baseline:
            return Change(0.0, 0.0, 0.0, "same", unit)
        if one is None or one["mean"] is None:
            return Change(math.nan, None, None, None, unit)
        interval = one.get("interval") or {}
        return Change(one["mean"], interval.get("low"), interval.get("high"), one.get("shown"), unit)

    def changes(self, governor: str) -> dict[str, Change]:
        return {measure: self.change(governor, measure) for measure in MEASURES}

    def worst(self, governor: str, measure: str) -> float:
        """The largest value in any recording; infinite where one has none."""
        place = MEASURES[measure]
        assert place is not None, "only latencies have absolute limits"
        worst = 0.0
        for recording in self._run["recordings"]:
            [result] = [r for r in recording["results"] if r["governor"] == governor]
            value = result.get("score")
            for key in place:
                value = None if value is None else value.get(key)
            worst = max(worst, math.inf if value is None else float(value))
        return worst

    def failure(self, governor: str) -> str | None:
        for recording in self._run["recordings"]:
            for result in recording["results"]:
                if result["governor"] == governor and result.get("failure"):
                    return f"{recording['id']}: {result['failure']}"
        return None


@dataclass(frozen=True)
class Tuning:
    """What a search has found."""

    study: optuna.Study
    baseline: str
    objectives: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    front: tuple[Setting, ...]
    """Settings that no other beats in all objectives, by the first objective; those that keep the constraints in training."""
    train: tuple[int, tuple[str, ...]]
    """Recordings and machines that the search used."""
    validation: tuple[int, tuple[str, ...]]

    @property
    def best(self) -> Setting:
        """The first setting that keeps the constraints on the validation's machines and gains there in the first objective (shown, or
        in the mean where there is no interval); else the first of the front. It is chosen by the validation, so what it is worth is
        said by machines that are in neither part."""
        if not self.front:
            raise ValueError(str(self))
        kept = [s for s in self.front if not s.broken and s.gains_there(self.objectives[0])]
        return (kept or list(self.front))[0]

    def __str__(self) -> str:
        if not self.front:
            return f"No setting keeps {', '.join(c.text for c in self.constraints)} in training."
        trials = self.study.trials
        different = {tuple(sorted(trial.params.items())) for trial in trials}
        lines = [f"{len(trials)} trials of {len(different)} settings against {self.baseline}; less is better"]
        lines += [f"{name}: {n} recordings of {', '.join(of)}" for name, (n, of) in self._parts()]
        columns = [m for m in MEASURES if m in self.objectives or any(c.measure == m for c in self.constraints)]
        width = max(len(s.governor) for s in self.front)
        lines.append("")
        for number, setting in enumerate(self.front, 1):
            lines.append(f"{number:>3}  {setting.governor:<{width}}{self._verdict(setting)}")
            for name, part in (("train", setting.train), ("validation", setting.validation)):
                cells = (f"{m} {part[m]}" for m in columns)
                lines.append(f"     {name:<11}{'  '.join(cells)}")
        lines += ["", "~ nothing shown; = within 1 %; ? no interval, which needs five machines or five recordings of one"]
        if len(self.validation[1]) == 1:
            lines.append("validation: of one machine; nothing is known of others")
        return "\n".join(lines)

    def _parts(self) -> list[tuple[str, tuple[int, tuple[str, ...]]]]:
        return [("train", self.train), ("validation", self.validation)]

    def _verdict(self, setting: Setting) -> str:
        if setting.broken:
            return f"  breaks {', '.join(setting.broken)} on the validation's machines"
        lost = [m for m in self.objectives if setting.carries_over(m) is False]
        if lost:
            return f"  the gain in {', '.join(lost)} does not carry over"
        unknown = [m for m in self.objectives if setting.carries_over(m) is None and setting.gains_there(m)]
        return f"  not shown: the gain in {', '.join(unknown)}" if unknown else ""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def tune(
    governor: str,
    parameters: Mapping[str, Any],
    corpus: Value | None = None,
    *,
    train: Iterable[Trace] | None = None,
    validation: Iterable[Trace] | None = None,
    objectives: Sequence[str] = ("energy", "latency_mean"),
    constraints: Sequence[str] = (),
    trials: int = 100,
    sampler: str | optuna.samplers.BaseSampler = "nsga2",
    seed: int = 0,
    batch: int = 25,
    baseline: str | None = None,
    study: optuna.Study | None = None,
    progress: Progress = None,
    **selection: Any,
) -> Tuning:
    """Searches `parameters` of `governor` for less of each of `objectives`, on the recordings for training.

    corpus: the folder of a corpus, which says what each recording is for [default: corpus].
    train, validation: recordings instead of a corpus: files, or what `read` gives where a trace lacks something. No machine
        may be in both.
    parameters: by name: (low, high) or (low, high, step), whole numbers; a list of choices; or a distribution of Optuna's.
    objectives: of energy, latency_mean, latency_p99, too_deep, too_shallow, wakeups: mean changes from the baseline.
    constraints: such as "latency_p99 <= 100us" (in every recording) or "latency_mean <= +2%" (of the baseline's).
    sampler: nsga2, tpe, random, or a sampler of Optuna's.
    batch: trials that one pass over the recordings serves; the sampler hears of their values after it.
    baseline: the governor that all are compared with [default: `governor` as it ships].
    study: a study of Optuna's to go on with, such as one that a storage keeps; `trials` counts those that it has, and its sampler
        is used.
    progress: called with (what, done, of); None: a bar on terminals and in notebooks; False: nothing.
    selection: which recordings: `machine`, `workload`, `basis`, ... of `corpus_run`.

    Machines are for training or for validation; what was found in training is then run on the others, and only that says what
    it is worth. Raises ValueError for what cannot be searched.
    """
    if not isinstance(governor, str):
        raise TypeError(
            f"tune takes a governor by its name, and got {governor!r}; of a class in Python replay and corpus_run take an object for "
            "each setting: governor=[Mine(3), Mine(5)]"
        )
    if corpus is not None and (train is not None or validation is not None):
        raise ValueError("corpus and train, validation: give one of them")
    if (train is None) != (validation is None):
        raise ValueError("train and validation: give both; what is found is judged on machines that the search has not seen")
    if train is not None and validation is not None:
        with tempfile.TemporaryDirectory(prefix="idlewise-") as folder:
            parts = {
                "train": (_corpus_of(os.path.join(folder, "train"), "train", train), None),
                "validation": (_corpus_of(os.path.join(folder, "validation"), "validation", validation), None),
            }
            return _tune(
                governor, parameters, parts, objectives, constraints, trials, sampler, seed, batch, baseline, study, progress, selection
            )
    folder_of = "corpus" if corpus is None else corpus
    parts_of: dict[str, tuple[Value, str | None]] = {split: (folder_of, split) for split in ("train", "validation")}
    return _tune(
        governor, parameters, parts_of, objectives, constraints, trials, sampler, seed, batch, baseline, study, progress, selection
    )


def _corpus_of(folder: str, split: str, recordings: Iterable[Trace]) -> str:
    """A corpus of these recordings, each as a tape that knows its machine."""
    os.mkdir(folder)
    if isinstance(recordings, (str, os.PathLike, Recording)):
        recordings = [recordings]
    for number, given in enumerate(recordings):
        recording = given if isinstance(given, Recording) else Recording(given, {})
        stem = re.sub(r"[^A-Za-z0-9_.-]", "-", os.path.splitext(os.path.basename(recording.path))[0])
        try:
            with open(recording.path, "rb") as file:
                is_tape = file.read(len(TAPE)) == TAPE
            tape = recording if is_tape else recording.tape(os.path.join(folder, f"{number}-{stem}.tape"))
            _commands.corpus_add(
                tape.path,
                to=folder,
                id=f"{number}-{stem}",
                workload="given",
                basis="measured",
                licence="LicenseRef-given",
                origin="given",
                command="given",
                in_place=True,
                charts=False,
                progress=False,
                **tape._options,
            )
        except (Error, OSError) as error:
            raise ValueError(f"{split}: {error}") from error
    if not os.listdir(folder):
        raise ValueError(f"{split}: no recordings are given")
    return folder


def _tune(
    governor: str,
    parameters: Mapping[str, Any],
    parts: Mapping[str, tuple[Value, str | None]],
    objectives: Sequence[str],
    constraints: Sequence[str],
    trials: int,
    sampler: str | optuna.samplers.BaseSampler,
    seed: int,
    batch: int,
    baseline: str | None,
    study: optuna.Study | None,
    progress: Progress,
    selection: dict[str, Any],
) -> Tuning:
    """As `tune`; `parts` are the corpora of training and validation, with the part of each."""
    try:
        import optuna
    except ImportError as error:
        raise ImportError("the search needs Optuna: pip install 'idlewise[tune]'") from error
    for name, given in (("objectives", objectives), ("constraints", constraints)):
        if isinstance(given, str):
            raise ValueError(f"{name}: {given!r} is one text; expected a list, [{given!r}]")
    objectives = tuple(objectives)
    unknown = [o for o in objectives if o not in MEASURES]
    if unknown or not objectives:
        raise ValueError(f"objectives {list(objectives)}: expected some of {', '.join(MEASURES)}")
    if "split" in selection:
        raise ValueError("split: training and validation are chosen by the corpus, or given as train and validation")
    for name, number, least in (("trials", trials, 1), ("batch", batch, 1), ("seed", seed, 0)):
        if not isinstance(number, Integral) or isinstance(number, bool) or number < least:
            raise ValueError(f"{name}: {number!r}: expected a whole number from {least} on")
    limits = tuple(Constraint.read(text) for text in constraints)
    space = {name: _distribution(name, values) for name, values in parameters.items()}
    if not space:
        raise ValueError("parameters: expected at least one, such as {'decay_shift': (1, 6)}")
    base = baseline or governor
    if study is None:
        with _quiet():
            study = optuna.create_study(directions=["minimize"] * len(objectives), sampler=_sampler(sampler, int(seed)))
    elif [d.name for d in study.directions] != ["MINIMIZE"] * len(objectives):
        raise ValueError(f"study: expected one that minimises {len(objectives)} objectives")

    def run(split: str, governors: Sequence[str]) -> Part:
        names = [base, *(g for g in dict.fromkeys(governors) if g != base)]
        folder, part = parts[split]
        result = corpus_run(
            folder, governor=names, baseline=base, split=part, charts=False, progress=False, **selection
        )
        return Part(result.data)

    def run_or_why(names: Sequence[str]) -> dict[str, Part | str]:
        """Each governor's part, or why there is none: one that is refused takes no other with it."""
        try:
            return dict.fromkeys(names, run("train", names))
        except Error as error:
            if len(names) == 1:
                return {names[0]: str(error)}
            return {name: one for each in dict.fromkeys(names) for name, one in run_or_why([each]).items()}

    seen: dict[str, Setting] = {}
    failed: list[str] = []
    part = run("train", [])
    others = run("validation", [])
    shared = part.machines & others.machines
    for name, one in (("training", part), ("validation", others)):
        if one.recordings < 2:
            raise ValueError(f"{name}: {one.recordings} recording is for it; expected at least two")
    if shared:
        raise ValueError(
            f"{', '.join(sorted(shared))}: in training and in validation; a machine has one part, since recordings of one machine are "
            "alike"
        )
    with Bar.of(progress) as heard:
        while len(study.trials) < trials:
            asked = [study.ask(space) for _ in range(min(batch, trials - len(study.trials)))]
            names = [_spec(governor, trial.params) for trial in asked]
            ran = run_or_why(names)
            for trial, name in zip(asked, names, strict=True):
                got = ran[name]
                why = got if isinstance(got, str) else got.failure(name)
                changes = {} if isinstance(got, str) else got.changes(name)
                values = [changes[o].mean for o in objectives if o in changes]
                if isinstance(got, str) or why is not None or not all(map(math.isfinite, values)):
                    failed.append(f"{name}: {why or 'no value for an objective'}")
                    study.tell(trial, state=optuna.trial.TrialState.FAIL)
                    continue
                for limit in limits:
                    trial.set_constraint(limit.text, limit.excess(got, name))
                study.tell(trial, values)
                seen[name] = Setting(name, dict(trial.params), changes)
            if heard is not None:
                heard("searching", len(study.trials), trials)
            if not seen and len(failed) == len(study.trials) >= HOPELESS:
                break
    best = {_spec(governor, t.params): dict(t.params) for t in study.best_trials}
    if not seen and not best:
        raise ValueError(f"no setting could be run; the first: {failed[0]}")
    # Of a study that went on, some were run by another call.
    others_of_study = [name for name in best if name not in seen]
    if others_of_study:
        again = run("train", others_of_study)
        seen |= {name: Setting(name, best[name], again.changes(name)) for name in others_of_study}
    front = sorted((seen[name] for name in best), key=lambda s: [s.train[o].mean for o in objectives])
    others = run("validation", [s.governor for s in front])
    return Tuning(
        study,
        base,
        objectives,
        limits,
        tuple(_validated(s, others, limits) for s in front),
        (part.recordings, tuple(sorted(part.machines))),
        (others.recordings, tuple(sorted(others.machines))),
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Optuna says that a study was made, on standard error."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def _validated(setting: Setting, part: Part, limits: Sequence[Constraint]) -> Setting:
    excess = {c.text: c.excess(part, setting.governor) for c in limits}
    broken = {text: by for text, by in excess.items() if not by <= 0.0}
    return replace(setting, validation=part.changes(setting.governor), broken=broken)


def _spec(governor: str, params: Mapping[str, Any]) -> str:
    """The governor with these parameters after those that it already has."""
    words = ",".join(f"{name}={int(v) if isinstance(v, bool) else v}" for name, v in params.items())
    return f"{governor}{',' if ':' in governor else ':'}{words}"


def _distribution(name: str, values: Any) -> optuna.distributions.BaseDistribution:
    import optuna

    if isinstance(values, optuna.distributions.BaseDistribution):
        return values
    if isinstance(values, list) and values:
        return optuna.distributions.CategoricalDistribution(values)
    if isinstance(values, (tuple, range)) and not isinstance(values, str):
        low, high, step = (
            (values.start, values.stop - 1, values.step)
            if isinstance(values, range)
            else (*values, 1)[:3] if len(values) in (2, 3) else (None, None, None)
        )
        if all(isinstance(v, Integral) for v in (low, high, step)) and 0 <= low <= high and step > 0:
            return optuna.distributions.IntDistribution(int(low), int(high), step=int(step))
    raise ValueError(
        f"parameter {name}: {values!r}: expected (low, high) or (low, high, step) of whole numbers, or a list of choices"
    )


def _sampler(sampler: str | optuna.samplers.BaseSampler, seed: int) -> optuna.samplers.BaseSampler:
    import optuna

    if not isinstance(sampler, str):
        return sampler
    kinds: dict[str, Callable[[], optuna.samplers.BaseSampler]] = {
        "nsga2": lambda: optuna.samplers.NSGAIISampler(seed=seed),
        "tpe": lambda: optuna.samplers.TPESampler(seed=seed),
        "random": lambda: optuna.samplers.RandomSampler(seed=seed),
    }
    if sampler not in kinds:
        raise ValueError(f"sampler {sampler!r}: expected one of {', '.join(kinds)}")
    return kinds[sampler]()
