# SPDX-License-Identifier: GPL-2.0-only
"""Does a governor in Python decide as one in C, and is it said what it did wrong? IDLEWISE names the command."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pathlib
import re
import signal
import tempfile
import threading
import time
import unittest
import warnings
from typing import Any

import idlewise
import idlewise.testing
from children import interruptible

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = str(ROOT / "tests/data/sleeploop.dat")
MIXED = str(ROOT / "tests/data/mixed.dat")


class Lowest(idlewise.Governor):
    """What governors/deepest.c does."""

    def select(self, cpu: idlewise.Cpu, states: tuple[idlewise.State, ...], inputs: idlewise.Inputs) -> Any:
        # The core takes state 0 where all are disabled.
        on = [s for s in states if not s.disabled] or states[:1]
        fit = [s for s in on if s.exit_latency_ns <= inputs.latency_limit_ns]
        chosen = fit[-1] if fit else on[0]
        return chosen.index, not chosen.polling


class Answers(idlewise.Governor):
    """Returns what it is given, from the decision number `after` on."""

    def __init__(self, answer: Any, after: int = 0) -> None:
        self.answer = answer
        self.left = after

    def select(self, cpu: idlewise.Cpu, states: tuple[idlewise.State, ...], inputs: idlewise.Inputs) -> Any:
        self.left -= 1
        return self.answer if self.left < 0 else 0


def results(result: idlewise.Result, governor: str) -> list[str]:
    """All that each trace says of a governor, but for its name."""
    of_trace = [[g for g in t["governors"] if g["governor"] == governor] for t in result["traces"]]
    return [json.dumps(g | {"governor": ""}, sort_keys=True) for (g,) in of_trace]


class Replays(unittest.TestCase):
    def test_it_decides_as_the_same_in_c(self) -> None:
        for platform in ("pixel6", "skylake-sp"):
            result = idlewise.replay(TRACE, MIXED, governor=[Lowest, "deepest", "menu"], platform=platform)
            self.assertEqual(results(result, "Lowest"), results(result, "deepest"))
            self.assertNotEqual(results(result, "Lowest"), results(result, "menu"))
        self.assertEqual(result["request"]["governors"], ["Lowest", "deepest", "menu"])
        self.assertEqual([f["governor"] for f in result["foreign"]], ["Lowest"])
        self.assertTrue(result["foreign"][0]["file"].endswith("test_governors.py"))

    def test_every_cpu_has_an_object_of_its_own(self) -> None:
        seen: dict[int, int] = {}

        class Mine:
            cpu: int | None = None

            def select(self, cpu: idlewise.Cpu, states: Any, inputs: Any) -> int:
                self.cpu = cpu.number if self.cpu is None else self.cpu
                assert self.cpu == cpu.number and cpu.states is states
                seen[cpu.number] = seen.get(cpu.number, 0) + 1
                return 0

        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.txt")
            idlewise.simulate("frames", governor="menu", seconds=0.2, write_trace=trace)
            result = idlewise.replay(trace, governor=Mine, charts=False)
        self.assertGreater(len(seen), 4)
        self.assertEqual(sum(seen.values()), result["traces"][0]["governors"][0]["decisions"])
        # An object is copied, so it stays as it is.
        given = Answers(0, after=7)
        idlewise.replay(TRACE, governor=given)
        self.assertEqual(given.left, 7)

    def test_the_result_is_the_same_each_time(self) -> None:
        once, again = (idlewise.replay(TRACE, MIXED, governor=[Lowest, "menu"], platform="pixel6") for _ in "ab")
        self.assertEqual(once.json, again.json)
        # What else runs does not matter either.
        alone = [idlewise.replay(trace, governor=Lowest, platform="pixel6") for trace in (TRACE, MIXED)]
        scores = [[t["governors"][0]["score"] for t in result["traces"]] for result in (once, *alone)]
        self.assertEqual(scores[0], scores[1] + scores[2])

    def test_other_threads_of_python_run_meanwhile(self) -> None:
        class Slow(Lowest):
            def select(self, cpu: idlewise.Cpu, states: tuple[idlewise.State, ...], inputs: idlewise.Inputs) -> Any:
                for _ in range(500):
                    pass
                return super().select(cpu, states, inputs)

        turns, done = 0, threading.Event()

        def count() -> None:
            nonlocal turns
            while not done.wait(0.001):
                turns += 1

        thread = threading.Thread(target=count)
        thread.start()
        idlewise.replay(MIXED, governor=Slow, charts=False)
        done.set()
        thread.join()
        self.assertGreater(turns, 3)

    def test_inputs_are_those_that_a_kernels_governor_has(self) -> None:
        class Curious(idlewise.Governor):
            seen: dict[str, Any] = {}
            ticks: list[bool] = []

            def select(self, cpu: idlewise.Cpu, states: tuple[idlewise.State, ...], inputs: idlewise.Inputs) -> int:
                self.seen.update({name: getattr(inputs, name) for name in dir(inputs) if name[0] != "_"})
                self.seen.update(cpu=repr(cpu), state=repr(states[-1]), last=cpu.last_residency_ns)
                self.ticks += [cpu.got_tick(), cpu.got_tick()]
                return len(states) - 1

        idlewise.replay(MIXED, governor=Curious, platform="pixel6", charts=False)
        seen = Curious.seen
        self.assertEqual((seen["tick_period_ns"], seen["iowait"], seen["tick_stopped"]), (4_000_000, 0, False))
        self.assertLessEqual(seen["util"], 1024)
        self.assertGreater(seen["latency_limit_ns"], 10**9)
        self.assertGreater(seen["last"], 0)
        self.assertRegex(seen["state"], r"^<state \d \S+: target residency \d+ ns, exit latency \d+ ns>$")
        self.assertTrue(any(Curious.ticks[::2]) and not any(Curious.ticks[1::2]))

    def test_compare_runs_it(self) -> None:
        result = idlewise.compare(TRACE, governor=(Lowest, "deepest"))
        self.assertTrue(result.same)


class Mistakes(unittest.TestCase):
    def refused(self, governor: Any, *traces: str) -> idlewise.Error:
        with self.assertRaises(idlewise.Error) as caught, warnings.catch_warnings():
            warnings.simplefilter("ignore", idlewise.IdlewiseWarning)
            idlewise.replay(*(traces or (TRACE,)), governor=["menu", governor])
        return caught.exception

    def test_an_exception_names_where_and_is_the_cause(self) -> None:
        class Raises(idlewise.Governor):
            def reflect(self, cpu: idlewise.Cpu, state: int) -> None:
                self.count = getattr(self, "count", 0) + 1
                if self.count == 5:
                    raise KeyError("no such thing")

            def select(self, cpu: idlewise.Cpu, states: Any, inputs: Any) -> int:
                return 0

        error = self.refused(Raises, TRACE, MIXED)
        self.assertRegex(
            str(error),
            r"^mixed\.dat: governor `Raises` in reflect, CPU \d, decision \d+, at \d+\.\d{9} s: "
            r"it raised KeyError: 'no such thing' \(test_governors.py, line \d+\)$",
        )
        self.assertIsInstance(error.__cause__, KeyError)
        # What was finished is there.
        assert error.result is not None
        for trace in error.result["traces"]:
            menu, raises = trace["governors"]
            self.assertGreater(menu["score"]["wakeups"], 100)
            self.assertIn("KeyError", raises["failure"])

    def test_an_exception_is_told_in_one_line_with_its_type(self) -> None:
        class Unspeakable(Exception):
            def __str__(self) -> str:
                raise ValueError

        class Raises(idlewise.Governor):
            error: BaseException

            def select(self, cpu: idlewise.Cpu, states: Any, inputs: Any) -> int:
                raise self.error

        for raised, told in (
            (ValueError("first\nsecond\n"), "raised ValueError: first second ("),
            (ValueError("\x1b[31mred\u202e"), r"raised ValueError: \x1b[31mred\u202e ("),
            (OSError(2, "No such file", "x\x07"), r"raised FileNotFoundError: [Errno 2] No such file: 'x\x07' ("),
            (ValueError(), "raised ValueError ("),
            (Unspeakable(), "Unspeakable: <its text cannot be had> ("),
            (ValueError("long " * 1000), "long ... ("),
        ):
            Raises.error = raised
            error = self.refused(Raises)
            self.assertIn(told, str(error))
            self.assertIs(type(error.__cause__), type(raised))

    def test_nonsense_is_shown_with_what_was_expected(self) -> None:
        expected = r"; expected the index of an idle state, 0 to 1, or \(index, stop_tick\)$"
        for answer in (7, -1, None, "deep", True, 1.0, (0,), (0, 1), (7, True), 10**30, [0, True]):
            error = self.refused(Answers(answer, after=3))
            self.assertRegex(str(error), r"`Answers` in select, CPU 0, decision 3, at .* s: it returned .*" + expected)
            self.assertIn(f"returned {answer!r};", str(error))
            self.assertIsNone(error.__cause__)
        self.assertIn("aaa...; expected", str(self.refused(Answers("a" * 99))))

    def test_a_class_that_cannot_be_made(self) -> None:
        class Wants(idlewise.Governor):
            def __init__(self, what: int) -> None:
                pass

        error = self.refused(Wants)
        self.assertRegex(str(error), "`Wants` in enable, CPU 0: it raised TypeError: .*missing 1 required positional")
        self.assertIsInstance(error.__cause__, TypeError)
        self.assertRegex(str(self.refused(idlewise.Governor)), "raised NotImplementedError: a governor needs the method")

    def test_names_tell_governors_apart(self) -> None:
        shallow, deep = Answers(0), Answers(1)
        result = idlewise.replay(TRACE, governor=[shallow, deep, Answers(0)], baseline=deep)
        names = [g["governor"] for g in result["traces"][0]["governors"]]
        self.assertEqual((names, result["baseline"]), (["Answers", "Answers-2", "Answers-3"], "Answers-2"))
        shallow.name = deep.name = "deep"
        with self.assertRaisesRegex(ValueError, "two governors are called deep; give one of them another `name`"):
            idlewise.replay(TRACE, governor=[shallow, deep])
        shallow.name = None
        result = idlewise.replay(TRACE, governor=[shallow, deep], baseline=deep)
        self.assertEqual([g["governor"] for g in result["traces"][0]["governors"]], ["Answers", "deep"])
        self.assertEqual(result["baseline"], "deep")
        deep.name = "menu"
        self.assertRegex(str(self.refused(deep)), "`menu` is the calling program's: a governor that ships")
        for name in ("oracle", "hindsight", "a b", "a,b", 3):
            deep.name = name  # type: ignore[assignment]
            with self.assertRaisesRegex(ValueError, "its `name` must be"):
                idlewise.replay(TRACE, governor=deep)

    def test_one_that_calls_idlewise_is_told_instead_of_waiting_for_itself(self) -> None:
        class Calls(idlewise.Governor):
            def select(self, cpu: idlewise.Cpu, states: tuple[idlewise.State, ...], inputs: idlewise.Inputs) -> int:
                idlewise.info(TRACE)
                return 0

        error = self.refused(Calls)
        self.assertRegex(str(error), "raised RuntimeError: idlewise was called by a governor that a call of idlewise runs")
        self.assertIsNotNone(idlewise.info(TRACE).json)

    def test_its_cost_is_that_of_python_and_no_violation(self) -> None:
        checked = idlewise.check(Answers(0), property=["cost"])
        self.assertTrue(checked.same, str(checked))
        self.assertIn("a call of it costs more than teo", str(checked))

    def test_what_takes_no_governor_in_python_says_so_and_what_does(self) -> None:
        takes = "check, compare, convert, corpus_run, counterexample, explain, fitness, replay, simulate$"
        with self.assertRaisesRegex(TypeError, "review takes governors by their names only, and got <class.*" + takes):
            idlewise.review("x.mbox", base="linux", recordings=TRACE, governor=Lowest)
        with self.assertRaisesRegex(TypeError, "sweep takes governors by their names only.*" + takes):
            idlewise.sweep(TRACE, governor=Lowest)
        with self.assertRaisesRegex(TypeError, "tune takes a governor by its name, and got <class.*corpus_run take an object"):
            idlewise.tune(Lowest, {"a": (1, 2)})  # type: ignore[arg-type]
        with self.assertRaisesRegex(idlewise.Error, "no governor `Lowest`"):
            idlewise.replay(TRACE, governor="Lowest")
        with self.assertRaises(TypeError):
            idlewise.replay(TRACE, governor=lambda cpu, states, inputs: 0)  # type: ignore[arg-type]

    def test_ctrl_c_ends_one_that_does_not_return(self) -> None:
        code = (
            "import idlewise\n"
            "class Mine:\n"
            "    def select(self, cpu, states, inputs):\n"
            "        print('asked', flush=True)\n"
            "        while True: pass\n"
            f"idlewise.replay({TRACE!r}, governor=Mine)"
        )
        self.ends_by_ctrl_c(code, "asked\n")

    def test_ctrl_c_ends_a_search_while_it_makes_a_sequence_minimal(self) -> None:
        code = (
            "import idlewise, sys\n"
            "class Tires(idlewise.Governor):\n"
            "    asked = 0\n"
            "    def select(self, cpu, states, inputs):\n"
            "        self.asked += 1\n"
            "        for _ in range(2000): pass\n"
            "        return 0 if self.asked > 40 else len(states) - 1\n"
            "def hear(what, done, of):\n"
            "    if what == 'making minimal':\n"
            "        assert 0 < done < of, (done, of)\n"
            "        print(what, flush=True)\n"
            "idlewise.counterexample(Tires, 'deepest', by='0.1%', rounds=8, platform='pixel6', progress=hear)\n"
        )
        self.ends_by_ctrl_c(code, "making minimal\n")

    def ends_by_ctrl_c(self, code: str, first: str) -> None:
        """Python that runs `code` does so soon, once it has said `first`."""
        child = interruptible(self, code)
        assert child.stdout is not None
        self.assertEqual(child.stdout.readline(), first)
        begun = time.monotonic()
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", said)
        self.assertLess(time.monotonic() - begun, 30)
        # Python ended as it should, not by a crash.
        self.assertEqual(child.returncode, -signal.SIGINT, said)


class Remembers(idlewise.Governor):
    """Has attributes of every kind."""

    class Past:
        def __init__(self) -> None:
            self.count = 2

    def __init__(self) -> None:
        self.last_ns, self.mean, self.sure, self.kind = 0, 0.5, True, "shy"
        self.recent_ns = [1 << 62] * 10
        self.by_state = {0: 7}
        self.past = self.Past()
        self.huge = 1 << 200
        self.select_later = self.select

    def select(self, cpu: idlewise.Cpu, states: tuple[idlewise.State, ...], inputs: idlewise.Inputs) -> int:
        return 0

    def reflect(self, cpu: idlewise.Cpu, state: int) -> None:
        self.last_ns = cpu.last_residency_ns


class Elsewhere(unittest.TestCase):
    """What else takes a class: each gives what it gives of the same in C."""

    def test_a_decision_is_explained_with_the_attributes_of_its_object(self) -> None:
        asked: dict[str, Any] = {"decision": 100, "others": [Lowest, "deepest", "oracle"], "platform": "pixel6"}
        explained = idlewise.explain(TRACE, governor=Remembers, **asked)["explanation"]
        [own] = explained["memory"]
        found = {member["name"]: member["value"] for member in own["value"]["Struct"]}
        self.assertEqual(own["name"], "self")
        self.assertGreater(found.pop("last_ns")["Number"], 0)
        self.assertEqual(found["mean"], {"Text": "0.5"})
        self.assertEqual((found["sure"], found["kind"]), ({"Bool": True}, {"Text": "shy"}))
        self.assertEqual(found["recent_ns"], {"Array": [{"Number": 1 << 62}] * 10})
        self.assertEqual(found["by_state"], {"Struct": [{"name": "0", "value": {"Number": 7}}]})
        self.assertEqual(found["past"], {"Struct": [{"name": "count", "value": {"Number": 2}}]})
        self.assertEqual(found["huge"], {"Text": str(1 << 200)})
        self.assertTrue(found["select_later"]["Text"].startswith("<bound method"), found)
        lowest, deepest = ({**o, "governor": ""} for o in explained["others"][:2])
        self.assertEqual(lowest, deepest)
        text = idlewise.explain(TRACE, governor=Remembers, **asked).text
        self.assertIn("its state before the decision: self", text)
        self.assertRegex(text, r"recent_ns +\(10 times never\)")
        differ = idlewise.explain(TRACE, why_differ=[Lowest, "shallow"], platform="pixel6")
        self.assertEqual(differ["governors"], ["Lowest", "shallow"])

    def test_a_corpus_runs_it(self) -> None:
        names = [Lowest, "deepest", "menu"]
        result = idlewise.corpus_run(ROOT / "corpus", governor=names, machine="juno", baseline="menu", charts=False)
        self.assertGreater(len(result["recordings"]), 4)
        for recording in result["recordings"]:
            lowest, deepest, menu, _ = (r | {"governor": ""} for r in recording["results"])
            self.assertEqual(json.dumps(lowest), json.dumps(deepest))
            self.assertNotEqual(lowest["score"], menu["score"])
        self.assertEqual([f["governor"] for f in result["foreign"]], ["Lowest"])

    def test_counterexamples_are_found_against_names_classes_and_files_in_c(self) -> None:
        few: dict[str, Any] = {"rounds": 40, "platform": "pixel6"}
        self.assertTrue(idlewise.counterexample(Lowest, "menu", **few).same)
        found = idlewise.counterexample("menu", Lowest, **few)
        self.assertEqual((found["a"], found["b"]), ("menu", "Lowest"))
        echo = str(ROOT / "docs/guide/example/echo.c")
        against_c = idlewise.counterexample(Lowest, echo, **few)
        against_name = idlewise.counterexample("deepest", echo, **few)
        self.assertEqual(against_c["found"], against_name["found"])
        self.assertLess(against_c["found"]["idle_periods"], 10)
        # The same is never worse.
        self.assertFalse(idlewise.counterexample(Lowest, "deepest", by="0.001%", **few).same)

    def test_one_that_goes_wrong_is_named_there_too(self) -> None:
        where = "`Answers` in select, CPU .*returned 99; expected the index of an idle state"
        wrong = Answers(99, after=3)
        with self.assertRaisesRegex(idlewise.Error, where):
            idlewise.explain(TRACE, governor=wrong, decision=10)
        with self.assertRaisesRegex(idlewise.Error, where):
            idlewise.counterexample(wrong, "menu", rounds=10, platform="pixel6")
        with self.assertRaisesRegex(idlewise.Error, where):
            idlewise.corpus_run(ROOT / "corpus", governor=["menu", wrong], id="kvm-mixed", charts=False)
        with self.assertRaisesRegex(idlewise.Error, where):
            idlewise.fitness(wrong, corpus=ROOT / "corpus")

    def test_tracks_of_its_choices_are_those_of_the_same_in_c(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder, f"{n}.pftrace") for n in "ab"]
            Lowest.name = "deepest-"
            try:
                idlewise.convert(TRACE, output=files[0], governor=[Lowest], platform="pixel6")
            finally:
                Lowest.name = None
            idlewise.convert(TRACE, output=files[1], governor=["deepest"], platform="pixel6")
            self.assertGreater(files[0].stat().st_size, 10_000)
            sizes = [file.stat().st_size for file in files]
            self.assertLess(abs(sizes[0] - sizes[1]), 5_000)


class Simulations(unittest.TestCase):
    def test_they_run_it_as_the_same_in_c(self) -> None:
        options: dict[str, Any] = {"seconds": 0.5, "repeat": 3, "platform": "pixel6"}
        result = idlewise.simulate("frames", governor=[Lowest, "deepest", "menu"], **options)
        values = {c["governor"]: [run["values"] for run in c["runs"]] for c in result["combinations"]}
        self.assertEqual(values["Lowest"], values["deepest"])
        self.assertNotEqual(values["Lowest"], values["menu"])
        again = idlewise.simulate("frames", governor=[Lowest, "deepest", "menu"], **options)
        self.assertEqual(result.json, again.json)

    def test_one_that_goes_wrong_takes_no_others_result(self) -> None:
        with self.assertRaisesRegex(
            idlewise.Error, r"^run with seed 1: governor `Answers` in select, CPU \d, decision 2, at .*returned 99; "
        ) as caught:
            idlewise.simulate("timer", governor=["menu", Answers(99, after=2)], seconds=0.5, repeat=2)
        assert caught.exception.result is not None
        menu, own = caught.exception.result["combinations"]
        self.assertEqual((len(menu["runs"]), menu.get("failure")), (2, None))
        self.assertIn("returned 99", own["failure"])


class Checks(unittest.TestCase):
    def test_a_crash_is_a_finding_whatever_is_asked(self) -> None:
        result = idlewise.testing.check(Answers("deep"), property="disabled")
        self.assertFalse(result.same)
        self.assertEqual([f["property"] for f in result["findings"]], ["crash"])
        self.assertIn("returned 'deep'", result["findings"][0]["what"])

    def test_one_that_keeps_everything(self) -> None:
        self.assertTrue(idlewise.testing.check(Lowest, property=["crash", "index", "disabled", "latency", "polling"]).same)

    def test_violations_are_short_stories(self) -> None:
        class Deepest(idlewise.Governor):
            def select(self, cpu: idlewise.Cpu, states: tuple[idlewise.State, ...], inputs: idlewise.Inputs) -> int:
                return len(states) - 1

        result = idlewise.testing.check(Deepest)
        self.assertFalse(result.same)
        self.assertNotIn("kunit", result.text.lower())
        found = {f["property"]: f for f in result["findings"]}
        self.assertEqual(set(found), {"disabled", "latency", "polling"})
        self.assertEqual([len(f["story"]) for f in found.values()], [1, 1, 1])
        once, again = (idlewise.testing.check(Deepest, property="latency").json for _ in "ab")
        self.assertEqual(once, again)

    def test_an_exception_is_a_violation(self) -> None:
        class Raises(idlewise.Governor):
            def select(self, cpu: idlewise.Cpu, states: Any, inputs: idlewise.Inputs) -> int:
                if cpu.last_residency_ns > 1_000_000 and inputs.sleep_length_ns < 0:
                    raise ArithmeticError("negative")
                return 0

        (found,) = idlewise.testing.check(Raises, property="crash")["findings"]
        self.assertRegex(found["what"], "`Raises` in select, CPU 0, decision 1, .*it raised ArithmeticError: negative")
        self.assertEqual(len(found["story"]), 2)

    def test_state_of_the_class_is_no_cpus_own(self) -> None:
        class Shared(idlewise.Governor):
            count: list[int] = []

            def select(self, cpu: idlewise.Cpu, states: Any, inputs: Any) -> int:
                self.count.append(0)
                return len(self.count) // 1000 % len(states)

        result = idlewise.testing.check(Shared, property=["repeatable", "independent"])
        self.assertFalse(result.same)

    def test_what_only_c_has_is_not_checked(self) -> None:
        verdicts = {p["property"]: p for p in idlewise.check(Lowest, property=["memory", "index"])["properties"]}
        self.assertEqual(verdicts["index"]["verdict"], "held")
        self.assertIn("not compiled", verdicts["memory"]["why"])


class Guide(unittest.TestCase):
    """docs/guide/governor-in-python.md; IDLEWISE_UPDATE_DOCS=1 writes what its examples print."""

    PAGE = ROOT / "docs/guide/governor-in-python.md"

    def run_page(self) -> tuple[str, dict[str, Any]]:
        """The page with what its examples print now, and what they leave."""
        names: dict[str, Any] = {}

        def printed(block: re.Match[str]) -> str:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(compile(block[1], str(self.PAGE), "exec"), names)
            return f"```python\n{block[1]}```\n```\n{said.getvalue().rstrip()}\n```\n"

        before = os.getcwd()
        os.chdir(ROOT)
        try:
            return re.sub(r"```python\n(.*?)```\n```\n(.*?)```\n", printed, self.PAGE.read_text(), flags=re.S), names
        finally:
            os.chdir(before)

    def test_it_shows_what_its_examples_print(self) -> None:
        page, names = self.run_page()
        if os.environ.get("IDLEWISE_UPDATE_DOCS"):
            self.PAGE.write_text(page)
        self.assertEqual(page, self.PAGE.read_text())
        self.assertEqual(page.count("```python\n"), 5)
        # What its last example shows of one recording, decision by decision on two.
        for platform in ("pixel6", "skylake-sp"):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "decisions.csv")
                both = [names["Echo"], str(ROOT / "docs/guide/example/echo.c")]
                idlewise.replay(TRACE, MIXED, governor=both, platform=platform, write_decisions=path, charts=False)
                with open(path, newline="") as file:
                    rows = list(csv.DictReader(file))
            of: dict[str, list[dict[str, str]]] = {}
            for row in rows:
                of.setdefault(row.pop("governor"), []).append(row)
            in_python, in_c = of.values()
            self.assertEqual(len({row["recording"] for row in in_c}), 2)
            self.assertGreater(len(in_c), 5_000)
            self.assertEqual(in_python, in_c)


if __name__ == "__main__":
    assert os.environ.get("IDLEWISE"), "IDLEWISE names no command"
    unittest.main()
