// SPDX-License-Identifier: GPL-2.0-only
//! What stands below the options in the help of commands, and under EXAMPLES in their manual pages.

/// Below the list of commands.
pub const ALL: &str = "\
Record this machine under a load, as root; then compare governors on the recording:
  idlewise record -o trace.dat -- ./load
  idlewise replay trace.dat \\
      --governor menu,teo,teo-util,oracle
How would governors do with this load on another machine? A trace that does not name its machine \
needs --recorded-on:
  idlewise replay trace.dat --governor menu,teo-util \\
      --platform skylake-sp
  idlewise replay mailed.dat --governor menu,teo-util \\
      --platform skylake-sp --recorded-on kvm-guest
What does a trace contain, and what did the kernel itself choose?
  idlewise info trace.dat
  idlewise score trace.dat --per cpu
Where do two governors differ, what does it cost, and why? The exit status is 1 if a --fail-if holds:
  idlewise compare --governor teo-6.1,teo-util trace.dat \\
      --fail-if 'too_deep > +1pp' --fail-if 'energy > +2%'
  idlewise explain trace.dat --why-differ menu,teo-util
Does a governor keep what every governor must keep?
  idlewise check ./mine.c
Which parameters are best on recordings?
  idlewise sweep recordings/ \\
      --governor 'teo:decay_shift=2..5'
What does a patch series change, patch by patch?
  idlewise review series.mbox --base ~/linux \\
      --recordings ~/recordings
A governor of your own, and one from a kernel tree:
  idlewise replay trace.dat \\
      --governor new@./mine.c,old@linux:6.12/teo \\
      --kernel-tree ~/linux-6.12
Show a recording, and the choices of governors in it, in the Perfetto UI (https://ui.perfetto.dev):
  idlewise convert trace.dat -o trace.perfetto-trace \\
      --governor teo-6.1,teo-util
Run a workload on a simulated machine, where a late wakeup delays later work; reproduce published tables:
  idlewise simulate frames --platform pixel6 \\
      --governor menu-6.1,teo-util --cpufreq schedutil \\
      --repeat 5
  idlewise reproduce rk3399-fio
Watch the running machine, compare governors on it with a benchmark, and get advice on which \
governor to use:
  idlewise top
  idlewise ab --governor menu,teo -- ./benchmark
  idlewise advise -- ./load
Run governors in a real kernel, on a virtual machine with the idle states of a phone:
  idlewise boot run --platform pixel6 --workload frames \\
      --governor linux/menu,teo-6.1,teo-util
Show a governor's manual page and parameters:
  idlewise governors show teo-util

Exit status: 0 success, 1 a comparison found a difference, 2 failure. If a recording holds the \
inputs and choices of the kernel's governor, replay also compares them with those of the same \
governor in user space.";

/// Below the options of `idlewise info`.
pub const INFO: &str = "\
What does a trace hold, which CPUs can be used, and what is missing?
  idlewise info trace.dat
The same for a program:
  idlewise info trace.dat --format json";

/// Below the options of `idlewise replay`.
pub const REPLAY: &str = "\
Compare governors on a recording, with the oracle as the bound:
  idlewise replay trace.dat \\
      --governor menu,teo,teo-util,oracle
On another machine; a trace that does not name its own machine needs --recorded-on:
  idlewise replay trace.dat --governor menu,teo-util \\
      --platform skylake-sp
  idlewise replay mailed.dat --governor menu,teo-util \\
      --platform skylake-sp --recorded-on kvm-guest
A parameter of a governor, a C file, and a governor of a kernel tree:
  idlewise replay trace.dat \\
      --governor teo-util,teo-util:util_threshold_shift=5
  idlewise replay trace.dat \\
      --governor ./mine.c,linux:6.12/teo \\
      --kernel-tree ~/linux-6.12
What is the idle power of governors worth in clock, on a machine at its package limit? A model:
  idlewise replay trace.dat --platform jasper-lake \\
      --recorded-on kvm-guest --power-limit pl1=6W:28s
Keep the result, and repeat it later:
  idlewise replay trace.dat --output result.json
  idlewise replay --again result.json

Exit status: 0 success, 2 failure.";

/// Below the options of `idlewise compare`.
pub const COMPARE: &str = "\
Where do two governors differ, and what does it cost?
  idlewise compare --governor teo-6.1,teo-util trace.dat
The same as a test; the exit status is 1 if a condition holds:
  idlewise compare --governor teo-6.1,teo-util trace.dat \\
      --fail-if 'too_deep > +1pp' --fail-if 'energy > +2%'
";

/// Below the options of `idlewise explain`.
pub const EXPLAIN: &str = "\
One decision: the last one at or before a time of the recording, or after so many seconds of it:
  idlewise explain trace.dat --governor teo-util \\
      --at 4816.25
  idlewise explain trace.dat --governor teo-util \\
      --after 0.03
Where two governors differ, and why:
  idlewise explain trace.dat --why-differ menu,teo-util
A row of a golden file:
  idlewise explain --golden decisions.csv.gz --row 17 \\
      --governor teo-6.1

Exit status: 0 success, 2 failure.";

/// Below the options of `idlewise schema`.
pub const SCHEMA: &str = "\
What fields does a result have, and of which types?
  idlewise schema replay
The same as a file, for a validator of JSON Schema 2020-12:
  idlewise schema replay > replay.schema.json";

/// Below the options of `idlewise score`.
pub const SCORE: &str = "\
How good were the kernel's own choices, by CPU?
  idlewise score trace.dat --per cpu
Check the trace against the kernel's counters:
  idlewise score trace.dat --counters before.txt after.txt

Exit status: 0 success, 1 the trace differs from the counters, 2 failure.";

/// Below the options of `idlewise tape`.
pub const TAPE: &str = "\
Keep what governors would have seen of a trace; the tape is replayed like the trace:
  idlewise tape trace.dat -o trace.tape
  idlewise replay trace.tape --governor menu,teo-util

Exit status: 0 success, 2 failure.";

/// Below the options of `idlewise convert`.
pub const CONVERT: &str = "\
Look at a recording in the Perfetto UI (https://ui.perfetto.dev, \"Open trace file\"):
  idlewise convert trace.dat -o trace.perfetto-trace
With the choices of two governors as additional tracks:
  idlewise convert trace.dat -o trace.perfetto-trace \\
      --governor teo-6.1,teo-util --recorded-on pixel6
As text, in the format of the kernel's own trace file:
  idlewise convert trace.perfetto-trace -o trace.txt

Events that idlewise does not understand keep their time, CPU, task and name, and lose their fields.";

/// Below the options of `idlewise simulate`.
pub const SIMULATE: &str = "\
A workload that ships with idlewise, on a phone, where a late wakeup delays later work:
  idlewise simulate frames --platform pixel6 \\
      --governor menu-6.1,teo-util
  idlewise simulate --list
Five runs of each combination of idle and frequency governors:
  idlewise simulate frames --platform pixel6 \\
      --governor menu-6.1,teo-util \\
      --cpufreq schedutil,performance --repeat 5
A workload of your own, in rt-app's grammar; a trace of the run for other tools:
  idlewise simulate ./mine.json --platform rk3399 \\
      --governor teo --write-trace run.perfetto-trace
Compare the simulation with recordings of real runs of the workload:
  idlewise simulate ./mine.json --beside real.dat

Exit status: 0 success, 2 failure.";

/// Below the options of `idlewise reproduce`.
pub const REPRODUCE: &str = "\
Which published tables can be repeated, and how well does each come out?
  idlewise reproduce --list
  idlewise reproduce
One of them, number by number:
  idlewise reproduce rk3399-fio";

/// Below the options of `idlewise drive`.
pub const DRIVE: &str = "\
Does a governor decide as a kernel's compiled code decided?
  idlewise drive --governor teo-6.1 \\
      --golden decisions.csv.gz
Does it repeat the choices of a live kernel, of which `idlewise record --inputs` kept the inputs?
  idlewise drive --governor menu \\
      --decisions trace.inputs.csv --platform kvm-guest

Exit status: 0 all decisions are the same, 1 some differ, 2 failure.";

/// Below the options of `idlewise check`.
pub const CHECK: &str = "\
Does a governor keep what every governor must keep?
  idlewise check ./mine.c
  idlewise check linux:6.12/teo --kernel-tree ~/linux-6.12
One property, with new sequences for a minute:
  idlewise check ./mine.c --property disabled --seconds 60
A KUnit test of what is found, as a patch for a kernel tree:
  idlewise check ./mine.c --kunit found.patch

Exit status: 0 no violation was found, 1 a property is violated, 2 failure.";

/// Below the options of `idlewise review`.
pub const REVIEW: &str = "\
Judge a posted series on recordings, as a mail:
  idlewise review series.mbox --base ~/linux \\
      --recordings ~/recordings --format mail
A branch of a kernel tree; versions of a file; on Debian's sources of a kernel:
  idlewise review master..topic --base ~/linux \\
      --recordings ~/recordings
  idlewise review v1/teo.c v2/teo.c --base 6.12 \\
      --recordings ~/recordings
In CI: fail if a patch breaks a property, or makes something worse that is shown to be:
  idlewise review master..HEAD --base . \\
      --recordings ~/recordings --fail-if 'worse > 0' \\
      --fail-if 'new_findings > 0' --fail-if 'problems > 0'
";

/// Below the options of `idlewise bisect`.
pub const BISECT: &str = "\
Which commit of a kernel tree raised the energy of teo on these recordings?
  idlewise bisect v6.6 v6.12 trace.dat more/ \\
      --kernel-tree ~/linux --governor teo \\
      --fail-if 'energy > +2%'
Which version of TEO, of those that ship with idlewise?
  idlewise bisect teo-5.6 teo trace.dat \\
      --fail-if 'latency_mean > +10%'
";

/// Below the options of `idlewise sweep`.
pub const SWEEP: &str = "\
Which threshold is best on these recordings?
  idlewise sweep a.dat b.dat --platform pixel6 \\
      --governor 'teo-util:util_threshold_shift=3..9'
How long would it take? Keep what is computed; an interrupted sweep goes on, a repeated one runs nothing:
  idlewise sweep corpus/ --dry-run \\
      --governor 'menu:intervals=4|8|16'
  idlewise sweep corpus/ --to results \\
      --governor 'menu:intervals=4|8|16'
All values of two parameters, on two machines:
  idlewise sweep recordings/ --platform pixel6,rk3399 \\
      --governor 'teo:decay_shift=2..5,enabled_first=0|1'
On simulated workloads, with a page of charts:
  idlewise sweep -w frames,requests --report page.html \\
      --governor 'teo-util:util_threshold_shift=3..9'
Of many parameters, 200 settings that cover all of their values:
  idlewise sweep corpus/ --sample 200 \\
      --governor 'menu:intervals=4..16,decay_shift=0..10'
In four parts, on as many machines; then together:
  idlewise sweep corpus/ --to results --shard 1/4 \\
      --governor 'menu:intervals=4|8|16'
  idlewise sweep corpus/ --to results \\
      --governor 'menu:intervals=4|8|16' -o result.parquet

Exit status: 0 success, 2 failure.";

/// Below the options of `idlewise fitness`.
pub const FITNESS: &str = "\
What is this governor worth on machines that it was not made with?
  idlewise fitness mine.c --corpus corpus
For a program that searches:
  idlewise fitness mine.c --format json

Exit status: 0 success, 1 a check or the latency limit fails, 2 failure.";

/// Below the options of `idlewise governors`.
pub const GOVERNORS: &str = "\
List the governors; show the manual page and parameters of one:
  idlewise governors
  idlewise governors show teo-util
The governors of a kernel tree:
  idlewise governors --kernel-tree ~/linux-6.12";

/// Below the options of `idlewise platform`.
pub const PLATFORM: &str = "\
List the machines; show the idle states and sources of one:
  idlewise platform list
  idlewise platform show pixel6
Describe the running machine, and replay a trace on it:
  idlewise platform scan > mine.toml
  idlewise platform check mine.toml
  idlewise replay trace.dat --platform mine.toml";

/// Below the options of `idlewise boot`.
pub const BOOT: &str = "\
Boot a kernel with the governors in it on a virtual machine with the idle states of a phone, and compare its choices:
  idlewise boot run --platform pixel6 --workload frames \\
      --governor linux/menu,teo-6.1,teo-util
  idlewise boot workloads
Add the governors to a kernel tree of your own, or remove them:
  idlewise boot overlay ~/linux
  idlewise boot overlay ~/linux --remove

Exit status: 0 success, 1 a test or a check of a run failed, 2 failure.";

/// Below the options of `idlewise restore`.
pub const RESTORE: &str = "\
A session was killed; restore governors, disabled states and limits as they were, as root:
  idlewise restore

Exit status: 0 success, 2 not everything could be restored.";

/// Below the options of `idlewise corpus`.
pub const CORPUS: &str = "\
What do governors lose against the oracle, over many machines and loads?
  idlewise corpus list
  idlewise corpus run --governor menu,teo-6.1,teo
Without what governors were tuned with; broken down:
  idlewise corpus run --governor menu,teo --split test
  idlewise corpus run --governor menu,teo --per workload
Add a recording of your own to a corpus, scrubbed; give one to others:
  idlewise corpus add trace.dat --to mine \\
      --workload compile --basis measured \\
      --licence CC0-1.0 --origin 'my laptop'
  idlewise corpus scrub trace.dat -o trace.tape
Download recordings, and compare them with their hashes:
  idlewise corpus fetch list.txt --to mine
  idlewise corpus verify mine

Exit status: 0 success, 1 verify found a changed or missing file, 2 failure.";

/// Below the options of `idlewise counterexample`.
pub const COUNTEREXAMPLE: &str = "\
When does one governor need 5 % more energy than another? The shortest tape found:
  idlewise counterexample teo-6.1 teo \\
      --metric energy --by 5%
In a recording; written as a tape, and replayed:
  idlewise counterexample menu teo trace.dat \\
      --tape worse.tape
  idlewise replay worse.tape --governor teo,menu
On one machine, in latency; as a workload for a real kernel:
  idlewise counterexample teo teo-util \\
      --metric latency_mean --by 20% \\
      --platform rk3399 --rt-app worse.json
  idlewise boot run --platform rk3399 \\
      --workload rt-app --rt-app-file worse.json

Exit status: 0 found, 1 none found, 2 failure.";
