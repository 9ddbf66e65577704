# SPDX-License-Identifier: GPL-2.0-only
"""Does a search of parameters keep training and validation apart, keep its constraints, and say what does not carry over?"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import pathlib
import unittest

import idlewise
from idlewise import _tune

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "corpus"
PAGE = ROOT / "docs/guide/search-parameters.md"
FEW = {"basis": "emulated", "workload": ["timer", "fio"]}


def setUpModule() -> None:
    if importlib.util.find_spec("optuna") is None:
        raise unittest.SkipTest("the search of parameters with optuna (not installed)")


class Searches(unittest.TestCase):
    def search(self, **more: object) -> idlewise.Tuning:
        asked: dict[str, object] = {"trials": 6, "batch": 3, "seed": 1, **FEW, **more}
        return idlewise.tune("teo", {"decay_shift": (1, 6)}, CORPUS, **asked)  # type: ignore[arg-type]

    def test_what_is_found_is_judged_on_other_machines(self) -> None:
        heard: list[tuple[str, int, int]] = []
        found = self.search(progress=lambda *step: heard.append(step))
        self.assertEqual(found.train[1], ("hikey960", "imx8mm", "rk3399"))
        self.assertEqual(found.validation[1], ("juno",))
        self.assertEqual(heard, [("searching", 3, 6), ("searching", 6, 6)])
        setting = found.front[0]
        # By other means: the command on the recordings of the validation.
        run = idlewise.corpus_run(
            CORPUS, governor=["teo", setting.governor], split="validation", charts=False, **FEW
        )
        [energy] = [c for c in run["change"] if c["column"] == "energy" and c["governor"] == setting.governor]
        self.assertEqual(setting.validation["energy"].mean, energy["mean"])
        for one in found.front:
            kept = one.carries_over("energy")
            self.assertIsNot(kept, True, "of one machine nothing is shown")
            self.assertEqual("not shown" in str(found), any(s.gains_there("energy") for s in found.front))
            lost = f"{one.governor}" in str(found) and "does not carry over" in str(found)
            self.assertTrue(kept is not False or lost, str(found))
        self.assertIn("of one machine; nothing is known of others", str(found))

    def test_recordings_are_taken_instead_of_a_corpus(self) -> None:
        tapes = {split: [CORPUS / f"boot-{name}.tape" for name in names] for split, names in (
            ("train", ("hikey960-timer", "rk3399-timer", "hikey960-fio")),
            ("validation", ("juno-timer", "juno-fio")),
        )}
        asked = {"trials": 3, "seed": 1}
        found = idlewise.tune("teo", {"decay_shift": (1, 6)}, **tapes, **asked)  # type: ignore[arg-type]
        self.assertEqual((found.train, found.validation), ((3, ("hikey960", "rk3399")), (2, ("juno",))))
        same = idlewise.tune("teo", {"decay_shift": (1, 6)}, CORPUS, **asked, basis="emulated", id=[  # type: ignore[arg-type]
            tape.stem for split in tapes.values() for tape in split
        ])
        self.assertEqual(str(found), str(same))
        # Traces, and what they lack.
        data = ROOT / "tests/data"
        traces = [data / "mixed.dat", idlewise.read(data / "sleeploop.dat", recorded_on="kvm-guest")]
        found = idlewise.tune("teo", {"decay_shift": (1, 6)}, train=tapes["train"], validation=traces, trials=1)
        self.assertEqual(found.validation, (2, ("kvm-guest",)))

    def test_recordings_of_one_machine_are_not_for_both(self) -> None:
        juno = [CORPUS / f"boot-juno-{load}.tape" for load in ("timer", "fio", "hackbench", "pingpong")]
        for given, why in (
            ({"train": juno[:2], "validation": juno[2:]}, "juno: in training and in validation; a machine has one part"),
            ({"train": juno}, "give both; what is found is judged on machines that the search has not seen"),
            ({"corpus": CORPUS, "train": juno, "validation": juno}, "corpus and train, validation: give one of them"),
            ({"train": [], "validation": juno}, "train: no recordings are given"),
            ({"train": juno, "validation": ["none.dat"]}, "validation: .*none.dat"),
            ({"train": juno, "validation": [ROOT / "README.md"]}, "validation: .*README.md is not a trace"),
        ):
            with self.assertRaisesRegex(ValueError, why):
                idlewise.tune("teo", {"decay_shift": (1, 6)}, **given)  # type: ignore[arg-type]

    def test_a_gain_that_the_validation_does_not_show_is_told(self) -> None:
        change = _tune.Change
        trained = {"energy": change(-5.0, -7.0, -3.0, "falls")}
        for there, carries in [
            (change(-4.0, -6.0, -2.0, "falls"), True),
            (change(-4.0, None, None, None), None),
            (change(1.0, None, None, None), False),
            (change(-4.0, -9.0, 1.0, "nothing"), False),
            (change(-0.1, -0.2, 0.1, "equivalent"), False),
            (change(2.0, 1.0, 3.0, "rises"), False),
        ]:
            setting = _tune.Setting("teo", {}, trained, {"energy": there})
            self.assertIs(setting.carries_over("energy"), carries, there)
            self.assertIs(setting.gains_there("energy"), carries is not False)
        nothing = _tune.Setting("teo", {}, {"energy": change(0.0, 0.0, 0.0, "same")}, trained)
        self.assertIsNone(nothing.carries_over("energy"))

    def test_a_setting_that_is_refused_takes_no_other_with_it(self) -> None:
        found = idlewise.tune("teo", {"decay_shift": [3, 99]}, CORPUS, trials=4, batch=4, seed=1, sampler="random", **FEW)
        self.assertEqual({s.governor for s in found.front}, {"teo:decay_shift=3"})
        self.assertEqual({t.state.name for t in found.study.trials}, {"COMPLETE", "FAIL"})
        with self.assertRaisesRegex(ValueError, "no setting could be run; the first: .*decay_shift=99 is out of range"):
            idlewise.tune("teo", {"decay_shift": [99]}, CORPUS, trials=1, **FEW)

    def test_a_study_goes_on(self) -> None:
        first = self.search(trials=2)
        both = self.search(trials=4, study=first.study)
        self.assertEqual(len(both.study.trials), 4)
        self.assertIn("4 trials of", str(both))

    def test_what_is_no_number_or_no_list_is_named(self) -> None:
        for wrong, why in (
            ({"trials": float("nan")}, "trials: nan: expected a whole number from 1 on"),
            ({"trials": 2.5}, "trials: 2.5"),
            ({"batch": 0}, "batch: 0"),
            ({"seed": "x"}, "seed: 'x'"),
            ({"objectives": "energy"}, r"objectives: 'energy' is one text; expected a list, \['energy'\]"),
            ({"constraints": "energy <= 2%"}, "constraints: 'energy <= 2%' is one text"),
        ):
            with self.assertRaisesRegex(ValueError, why):
                self.search(**wrong)

    def test_the_same_seed_finds_the_same(self) -> None:
        both = [str(self.search(sampler="tpe", trials=2, batch=2)) for _ in range(2)]
        self.assertEqual(both[0], both[1])

    def test_constraints_are_kept_in_training_and_looked_at_in_validation(self) -> None:
        free = self.search(trials=4)
        worst = max(s.train["latency_mean"].mean for s in free.front)
        bound = min(s.train["latency_mean"].mean for s in free.front)
        self.assertLess(bound, worst, "all settings have the same latency")
        held = self.search(trials=4, constraints=[f"latency_mean <= {bound + 0.01:+.3f}%"])
        self.assertTrue(held.front)
        for one in held.front:
            self.assertLessEqual(one.train["latency_mean"].mean, bound + 0.02)
        nothing = self.search(trials=1, constraints=["latency_p99 <= 1ns"])
        self.assertEqual(nothing.front, ())
        self.assertIn("No setting keeps latency_p99 <= 1ns", str(nothing))
        with self.assertRaisesRegex(ValueError, "No setting keeps"):
            nothing.best

    def test_the_page_shows_what_its_example_prints(self) -> None:
        page = PAGE.read_text()
        before, rest = page.split("```python\n")
        example, rest = rest.split("```\n```\n", 1)
        shown, after = rest.split("```\n", 1)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.chdir(CORPUS.parent):
            exec(compile(example, str(PAGE), "exec"), {})
        if os.environ.get("IDLEWISE_UPDATE_DOCS"):
            PAGE.write_text(f"{before}```python\n{example}```\n```\n{said.getvalue()}```\n{after}")
        else:
            self.assertEqual(said.getvalue(), shown)

    def test_what_cannot_be_searched_is_said_before_anything_runs(self) -> None:
        for wrong, words in [
            ({"objectives": ["speed"]}, "expected some of energy"),
            ({"constraints": ["latency < 3"]}, "MEASURE <= LIMIT"),
            ({"constraints": ["energy <= 3us"]}, "energy is no time"),
            ({"constraints": ["too_deep <= 3%"]}, "percentage points"),
            ({"sampler": "best"}, "nsga2, tpe, random"),
            ({"split": "test"}, "chosen by the corpus"),
            ({"trials": 0}, "from 1 on"),
            ({"workload": "idle"}, "at least two"),
        ]:
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, words):
                self.search(**wrong)
        for space in [{}, {"decay_shift": (6, 1)}, {"decay_shift": float("nan")}, {"decay_shift": []}]:
            with self.subTest(space), self.assertRaisesRegex(ValueError, "parameter"):
                idlewise.tune("teo", space, CORPUS, **FEW)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "no setting could be run; .* has no parameter `nothing_such`"):
            idlewise.tune("teo", {"nothing_such": (1, 99)}, CORPUS, trials=1000, batch=10, **FEW)  # type: ignore[arg-type]


if __name__ == "__main__":
    unittest.main()
