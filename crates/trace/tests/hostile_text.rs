// SPDX-License-Identifier: GPL-2.0-only
//! Does any text make the reader panic, hang, or keep what it should forget?
//!
//! `IDLEWISE_FUZZ_INPUTS=100000 cargo test --release -p idlewise-trace --test trace hostile_text::` runs that many inputs;
//! with `IDLEWISE_FUZZ_CORPUS=DIR` the undamaged texts are written to DIR, to start the fuzz target `text` of `fuzz/` from.

use crate::common;

use std::io::Write;
use std::path::Path;

use common::damage::{Chance, damage, inputs, survives};
use idlewise_trace::TraceFile;

/// Lines of every spelling.
const LINES: &str = "\
# tracer: nop
# entries-in-buffer/entries-written: 478/2665   #P:2
          <idle>-0     (-----) [000] d..2.  1.000002: cpu_idle: state=4294967295 cpu_id=0
          a b-12 (  611) [001] ...1 1.000003: tracing_mark_write: cpu_frequency_devlib: state=450000 cpu_id=5
 <...>-7   [001] ....  1.000004: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=R+ ==> next_comm=b c next_pid=0 next_prio=120
 <...>-7   [001]  1.000005: sched_switch:  swapper/5:0 [120] R ==> foo:123 [120]
 <...>-7   [001]  1.000006: sched_wakeup:  a:1 [120]<CANT FIND FIELD success>CPU:000
 <...>-7   [001]  1.000006: sched_waking:  comm=a=b pid=1 prio=120 target_cpu=003
 <...>-7   [001]  1.000007000: timer_start: timer=0x1 function=f expires=5 [timeout=-1] bucket_expiry=6 cpu=1 idx=12 flags=D|P|I
 <...>-7   [001]  1.000007: timer_start: [FAILED TO PARSE] timer=0x1 function=0xffffffff81000000 expires=5 bucket_expiry=6 now=0x5 flags=12
 <...>-7   [001]  1.000007: hrtimer_start: hrtimer=0000000000000001 function=f+0x0/0x1 expires=5 softexpires=5 mode=ABS|HARD was_armed=0
 <...>-7   [001]  1.000007: hrtimer_expire_entry: hrtimer=0x1 function=0xffffffff81000000 now=5
 <...>-7   [001]  1.000008: irq_handler_entry: irq=24 name=virtio a
 <...>-7   [001]  1.000008: ipi_entry: (Rescheduling interrupts)
 <...>-7   [001]  1.000008: guest_halt_poll_ns: halt_poll_ns 9 (grow 3)
 <...>-7   [001]  1.000008: cpu_idle_miss: cpu_id=0 state=2 type=above
 <...>-7   [001]  1.000008: tick_stop: success=0 dependency=SCHED
CPU:2 [LOST 123 EVENTS]
CPU:3 [EVENTS DROPPED]
  python-10732   1d..2.  6517.434713: cpu_idle: state=1 cpu_id=1
    a b-30684   10d.h1. 16258us!: cpu_idle: state=1 cpu_id=10
 k/u8:2 24819/24820 [001] 1.000000001:     1 power:cpu_idle: state=1 cpu_id=1
\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])
 x 1 [001] 1.000000002:     250000  cycles:u:
 x 1 [001] 1.000000003: PERF_RECORD_LOST lost 12
 => schedule
";

/// Pieces that readers of text stumble over.
const NASTY: [&str; 26] = [
    "[",
    "]",
    "[0] ",
    "[65535] 1.0: cpu_idle: ",
    "=",
    " ==> ",
    " next_comm=",
    ":",
    "-",
    "\n",
    "\r\n",
    "\\n\\\n",
    "\0",
    "#",
    "CPU:",
    "18446744073709551615",
    "99999999999999999999",
    "-9223372036854775808",
    "0xffffffffffffffff",
    "99999999999.999999999: ",
    "</script>",
    "<script class=\"trace-data\">",
    "> ",
    "12:",
    "\\u12",
    "{ cpu_id = 3 }, ",
];

fn bases() -> Vec<Vec<u8>> {
    let mut packed = b"TRACE:\n".to_vec();
    let mut w = flate2::write::ZlibEncoder::new(&mut packed, flate2::Compression::default());
    w.write_all(LINES.as_bytes()).unwrap();
    w.finish().unwrap();
    let page = |body: &str| format!("<!DOCTYPE html>\n<html>\n{body}\n</html>\n").into_bytes();
    vec![
        LINES.as_bytes().to_vec(),
        LINES.lines().skip(2).map(|l| format!("{l}\r\n")).collect::<String>().into_bytes(),
        LINES.lines().rev().map(|l| format!("{l}\n")).collect::<String>().into_bytes(),
        packed,
        page(&format!("<script class=\"trace-data\">\n{LINES}</script>")),
        page(&format!(
            "<script>\nvar linuxPerfData = \"\\\n{}\\n\";\n</script>",
            LINES.replace('\n', "\\n\\\n")
        )),
        LINES.lines().map(|l| format!("> {}\n", l.replace(" state=", "\n> state="))).collect::<String>().into_bytes(),
        format!("{{\"a\": [1], \"systemTraceEvents\": \"{}\"}}", LINES.replace('\t', "").replace('\n', "\\n"))
            .into_bytes(),
        // The CPUs one after the other.
        [LINES, LINES].concat().replacen("[001]", "[009]", 9).into_bytes(),
        "[17:46:22.794565804] (+0.000001868) host sched_switch: { cpu_id = 2 }, { prev_comm = \"a\", prev_tid = 0, \
         prev_prio = 20, prev_state = 0, next_comm = \"b\", next_tid = 7, next_prio = 20 }\n"
            .repeat(30)
            .into_bytes(),
    ]
}

/// Reads all there is, within bounds that no honest text of this size reaches.
fn read(bytes: Vec<u8>) -> u64 {
    let len = bytes.len() as u64;
    let Ok(file) = TraceFile::from_bytes(Path::new("hostile"), bytes) else { return 0 };
    let mut events = file.events().unwrap();
    let mut n = 0u64;
    for _ in events.by_ref() {
        n += 1;
        // A packed text can be a thousand times larger than its file.
        assert!(n < 1000 * (len + 4096), "more events than the text can hold");
    }
    let _ = (events.health(), events.counts(), events.irq_name(24), events.symbol(1), events.comm(7));
    n
}

fn damaged(bases: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let (base, other) = (&bases[chance.below(bases.len())], &bases[chance.below(bases.len())]);
    let mut bytes = if chance.below(3) == 0 { damage(base, other, chance) } else { base.clone() };
    for _ in 0..=chance.below(5) {
        let at = chance.below(bytes.len() + 1);
        let piece = NASTY[chance.below(NASTY.len())];
        let piece = piece.repeat(if chance.below(20) == 0 { 300 } else { 1 });
        let over = if chance.below(2) == 0 { piece.len().min(bytes.len() - at) } else { 0 };
        bytes.splice(at..at + over, piece.bytes());
    }
    bytes
}

#[test]
fn damaged_texts_never_break_the_reader() {
    let bases = bases();
    for base in &bases {
        assert!(read(base.clone()) > 20);
    }
    if let Some(dir) = std::env::var_os("IDLEWISE_FUZZ_CORPUS") {
        for (i, base) in bases.iter().enumerate() {
            std::fs::write(Path::new(&dir).join(format!("{i}.txt")), base).unwrap();
        }
    }
    survives(inputs(4_000), 20_240_608, 2, |chance| read(damaged(&bases, chance)));
}

#[test]
fn every_cut_is_survived() {
    for base in bases() {
        for len in (0..base.len()).step_by(11) {
            read(base[..len].to_vec());
        }
    }
}

/// Each of these would take minutes if a line, or the text, were searched again and again.
#[test]
fn long_lines_and_many_names_take_no_longer_than_other_text() {
    const MANY: usize = 4 << 20;
    let whole = |piece: &str| piece.repeat(MANY / piece.len());
    let head = " a-1 [000] 1.0: ";
    for line in [
        whole("["),
        whole("[0] "),
        whole(") [0] 1.0:"),
        whole("-1 0d 1.0"),
        whole("9"),
        whole("> "),
        whole("\n> [0] 1.0: e: x\n> (a"),
        whole("[1.000000000] (+?) h e: { cpu_id = 1 }, { "),
        format!("{head}sched_switch: {}", whole("x] S ==> ")),
        format!("{head}sched_switch: prev_pid= {}", whole(" next_comm=")),
        format!("{head}sched_wakeup: comm={}", whole(" pid=x")),
        format!("{head}hrtimer_cancel: {}", whole("hrtimer")),
        format!("{head}hrtimer_start: function={}", whole("f")),
        whole(&format!("{head}{}: x\n", "e".repeat(300))),
    ] {
        read(format!("# tracer: nop\n{line}").into_bytes());
    }
    for (prefix, suffix) in [
        ("", ": x"),
        ("hrtimer_start: hrtimer=1 expires=1 softexpires=1 function=", "f"),
        ("irq_handler_entry: irq=", " name=x"),
    ] {
        let text: String = (0..100_000).map(|i| format!("{head}{prefix}{i}{suffix}\n")).collect();
        assert_eq!(read(text.into_bytes()), 100_000);
    }
    let cpus: String = (0..70_000).map(|i| format!(" a-{i} [{i}] 1.0: x: y\n")).collect();
    assert_eq!(read(cpus.into_bytes()), 65_536);
    for piece in
        ["<script class=\"trace-data\"", "\n<script class=\"trace-data\">\n</script>", "linuxPerfData = \""]
    {
        read(format!("<!DOCTYPE html>\n{}", whole(piece)).into_bytes());
    }
    for piece in ["{\"a\":", "[", "\"", "\\", "\"1234567890123456789012345678901234567890\","] {
        read(format!("{{\"a\": {}", whole(piece)).into_bytes());
    }
}
