// SPDX-License-Identifier: GPL-2.0-only
//! Can the recorder's programs be read as text, and do they write nothing but what is theirs?

use std::fs;
use std::path::Path;

use idlewise_live::Host;
use idlewise_recorder::bpf::Recorder;
use idlewise_recorder::bpf::asm::{Assembler, FRAME, Width};
use idlewise_recorder::bpf::btf::Btf;
use idlewise_recorder::bpf::listing::{listing, programs};

use crate::btf_blob::{ARRAY, Blob, DATASEC, INT, PTR, STRUCT, VAR};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/bpf-programs.md");

/// A member: its name, its type, its first bit in the struct, and the bits of a bit field.
type Member<'m> = (&'m str, u32, u32, u32);

fn structure(b: &mut Blob, name: &str, size: u32, members: &[Member<'_>]) -> u32 {
    let words: Vec<u32> =
        members.iter().flat_map(|(name, of, at, bits)| [b.name(name), *of, bits << 24 | at]).collect();
    b.add(name, STRUCT, true, members.len() as u32, size, &words)
}

/// What the recorder reads of a kernel, laid out as in a build of Linux 6.18 for x86-64.
fn linux_6_18() -> Btf {
    let mut b = Blob::default();
    let int = b.add("int", INT, false, 0, 4, &[32]);
    let long = b.add("long", INT, false, 0, 8, &[64]);
    let pointer = b.add("", PTR, false, 0, 0, &[]);
    let array = |b: &mut Blob, of, n| b.add("", ARRAY, false, 0, 0, &[of, int, n]);

    structure(&mut b, "hrtimer", 64, &[("base", pointer, 384, 0)]);
    structure(&mut b, "hrtimer_clock_base", 64, &[("cpu_base", pointer, 0, 0)]);
    let bases = structure(&mut b, "hrtimer_cpu_base", 640, &[("cpu", int, 32, 0)]);
    structure(&mut b, "task_struct", 3264, &[("files", pointer, 14592, 0)]);
    structure(&mut b, "files_struct", 704, &[("fdt", pointer, 256, 0)]);
    structure(&mut b, "fdtable", 56, &[("fd", pointer, 64, 0)]);
    structure(&mut b, "file", 184, &[("private_data", pointer, 192, 0)]);
    structure(&mut b, "pm_qos_request", 48, &[("qos", pointer, 320, 0)]);
    let limits = structure(&mut b, "pm_qos_constraints", 40, &[("target_value", int, 128, 0)]);
    structure(&mut b, "dev_pm_qos", 304, &[("resume_latency", limits, 0, 0)]);
    let power = structure(&mut b, "dev_pm_info", 264, &[("qos", pointer, 1984, 0)]);
    structure(&mut b, "device", 696, &[("power", power, 1856, 0)]);

    let counters = ["disable", "usage", "time_ns", "above", "below", "rejected"];
    let counters: Vec<Member<'_>> = (0..).zip(counters).map(|(i, name)| (name, long, 64 * i, 0)).collect();
    let usage = structure(&mut b, "cpuidle_state_usage", 48, &counters);
    let usages = array(&mut b, usage, 10);
    let device = [
        ("poll_time_limit", int, 2, 1),
        ("next_hrtimer", long, 64, 0),
        ("last_state_idx", int, 128, 0),
        ("last_residency_ns", long, 192, 0),
        ("poll_limit_ns", long, 256, 0),
        ("states_usage", usages, 384, 0),
    ];
    structure(&mut b, "cpuidle_device", 640, &device);
    let count = structure(&mut b, "", 4, &[("counter", int, 0, 0)]);
    let queue = structure(&mut b, "rq", 3456, &[("nr_iowait", count, 21_888, 0)]);
    let tick = [
        ("flags", long, 0, 0),
        ("last_tick", long, 704, 0),
        ("got_idle_tick", int, 960, 0),
        ("idle_entrytime", long, 1024, 0),
        ("idle_calls", long, 1408, 0),
        ("idle_exittime", long, 1536, 0),
    ];
    let tick = structure(&mut b, "tick_sched", 232, &tick);
    let (factors, intervals) = (array(&mut b, int, 6), array(&mut b, int, 8));
    let menu = [
        ("needs_update", int, 0, 0),
        ("tick_wakeup", int, 32, 0),
        ("next_timer_ns", long, 64, 0),
        ("bucket", int, 128, 0),
        ("correction_factor", factors, 160, 0),
        ("intervals", intervals, 352, 0),
        ("interval_ptr", int, 608, 0),
    ];
    let menu = structure(&mut b, "menu_device", 80, &menu);

    let variables = [
        ("runqueues", queue, 110_592, 3456),
        ("hrtimer_bases", bases, 115_072, 640),
        ("tick_cpu_sched", tick, 116_448, 232),
        ("cpu_sys_devices", pointer, 168_768, 8),
        ("cpuidle_devices", pointer, 172_640, 8),
        ("menu_devices", menu, 172_992, 80),
    ];
    let mut section = Vec::new();
    for (name, of, at, size) in variables {
        section.extend([b.add(name, VAR, false, 0, of, &[1]), at, size]);
    }
    b.add(".data..percpu", DATASEC, false, variables.len() as u32, 185_496, &section);
    Btf::parse(b.bytes()).unwrap()
}

fn page() -> String {
    let programs = programs(&linux_6_18(), "menu", 4).unwrap();
    format!(
        "<!-- SPDX-License-Identifier: GPL-2.0-only -->\n\
         <!-- Generated: IDLEWISE_UPDATE_DOCS=1 cargo test --workspace --locked --test recorder bpf_listing:: -->\n\
         # The BPF programs of `record --inputs`\n\n\
         `idlewise record --inputs` writes four programs for the kernel that it finds, from that kernel's BTF. This page lists them\n\
         as decoded from their bytes, for the structs of a build of Linux 6.18 for x86-64, under menu with four idle states.\n\
         `cargo run -p idlewise-recorder --example programs` lists those for the running kernel; it loads nothing.\n\n\
         The programs store to three places only: the stack (`r10`), their map's value (`r7`), and the record (`r8`). They read kernel\n\
         memory with `bpf_probe_read_kernel` only. They call eight helpers, and have no loop. A test checks each of these.\n\
         [Reading a governor's true inputs](../concepts/true-inputs.md) says why each value is read where it is.\n\n\
         | program | runs | does |\n\
         |---|---|---|\n\
         | `find_limit` | once, as part of the recorder (`BPF_PROG_TEST_RUN`) | finds the global latency limit from an open file of `/dev/cpu_dma_latency`, here file 4 |\n\
         | `find_base` | at `hrtimer_start`, until each CPU has armed one timer | finds where each CPU's own variables are |\n\
         | `idle` | at `cpu_idle` | makes a record when a state is entered; keeps the time when it is left |\n\
         | `schedule` | at `sched_entry_tp`, before 6.15 at `sched_switch` | makes a record when the idle task gives way without having entered the state that was chosen |\n\n\
         `map 1` is what each CPU keeps, `map 2` has a ring for each CPU, and `map 3` takes what `find_limit` finds. The numbers of\n\
         maps and files, and the limit's address 0xffffffff11111110, are examples: each recording finds them anew. `w6` is the lower\n\
         half of `r6`. A jump names the line that it goes to.\n\n\
         ```\n{programs}```\n"
    )
}

#[test]
fn the_page_lists_the_programs() {
    if std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some() {
        fs::write(PAGE, page()).unwrap();
    }
    let there = fs::read_to_string(PAGE).unwrap();
    assert!(there == page(), "docs/reference/bpf-programs.md is old: its second line says how it is made");
}

/// What the page promises of every program.
fn check(programs: &str) {
    let lines = programs.lines().filter_map(|line| line.trim_start().split_once(": "));
    let (mut stores, mut loads, mut calls) = (0, 0, 0);
    // Where the first argument of a helper points to.
    let mut first = "";
    for (at, insn) in lines.filter_map(|(at, insn)| Some((at.parse::<usize>().ok()?, insn))) {
        assert!(!insn.starts_with("not known"), "{insn}");
        if let Some((to, _)) = insn.strip_prefix("*(u").and_then(|rest| rest.split_once(" = ")) {
            assert!(["(r7 ", "(r8 ", "(r10 "].iter().any(|base| to.contains(base)), "{insn}");
            stores += 1;
        } else if let Some((_, from)) = insn.split_once(" = *(u") {
            // What a tracepoint hands over, and what is written already.
            assert!(["(r6 ", "(r7 ", "(r10 "].iter().any(|base| from.contains(base)), "{insn}");
            loads += 1;
        } else if let Some(helper) = insn.strip_prefix("call ") {
            assert!(helper.starts_with("bpf_"), "{insn}");
            if helper == "bpf_probe_read_kernel" {
                assert!(["r7", "r8", "r10"].contains(&first), "{at}: reads to {first}");
            }
            calls += 1;
        } else if let Some(from) = insn.strip_prefix("r1 = ") {
            first = from;
        } else if let Some((_, to)) = insn.split_once("goto ") {
            assert!(to.parse::<usize>().unwrap() > at, "a jump back: {insn}");
        }
    }
    assert!(stores > 30 && loads > 30 && calls > 20, "{stores} {loads} {calls}");
    for name in ["find_limit", "find_base", "idle", "schedule"] {
        assert!(programs.contains(&format!("\n{name}: ")), "{name}");
    }
}

#[test]
fn programs_write_only_what_is_theirs_and_have_no_loop() {
    for governor in ["menu", "haltpoll", "teo"] {
        check(&programs(&linux_6_18(), governor, 4).unwrap());
    }
}

#[test]
fn the_running_kernels_programs_are_listed_and_keep_to_the_same() {
    match Recorder::programs(&Host::below(Path::new("/"))) {
        Ok(programs) => check(&programs),
        Err(e) => println!("skipped: {e}"),
    }
}

#[test]
fn what_a_kernel_lacks_is_named() {
    let why = programs(&linux_6_18(), "ladder", 4).unwrap_err().to_string();
    assert_eq!(why, "this kernel has no struct ladder_device");
    let why = programs(&linux_6_18(), "menu", 11).unwrap_err().to_string();
    assert_eq!(why, "this kernel has no room for 11 idle states (10)");
}

#[test]
fn each_instruction_is_one_line_that_says_what_it_does() {
    let mut a = Assembler::default();
    let out = a.label();
    a.note("a wide value").set_wide(3, 0xffff_8886_27c0_0010).map(1, 5).copy(2, FRAME).add(2, -4);
    a.set(4, -7).load(Width::Double, 1, 7, 16).load(Width::Word, 2, FRAME, -4);
    a.store(Width::Double, FRAME, -16, 0).store(Width::Word, 8, 12, 6);
    a.store_imm(Width::Word, 8, 28, -1).store_imm(Width::Double, 7, 0, 0);
    a.call(113).go_if_is(0, 0, out).go_if_not(2, 3, out).go_if_half_is(6, -1, out);
    a.go_if_halves_differ(0, 1, out).go(out).here(out).note("over").leave();
    let text = listing(&a.finish().unwrap());
    let expected = "\
; a wide value
   0: r3 = 0xffff888627c00010
   2: r1 = map 5
   4: r2 = r10
   5: r2 += -4
   6: r4 = -7
   7: r1 = *(u64 *)(r7 +16)
   8: r2 = *(u32 *)(r10 -4)
   9: *(u64 *)(r10 -16) = r0
  10: *(u32 *)(r8 +12) = r6
  11: *(u32 *)(r8 +28) = -1
  12: *(u64 *)(r7 +0) = 0
  13: call bpf_probe_read_kernel
  14: if r0 == 0 goto 19
  15: if r2 != 3 goto 19
  16: if w6 == -1 goto 19
  17: if w0 != w1 goto 19
  18: goto 19
; over
  19: r0 = 0
  20: exit
";
    assert_eq!(text, expected);
}
