// SPDX-License-Identifier: GPL-2.0-only
//! A machine made of files, on which the live commands do all that they do on a kernel: governors that can be switched, states
//! that can be disabled, tracing that can be recorded. It needs no root, no kernel option and no idle state.
//!
//! Two things a folder does not do by itself. A kernel fills a new trace instance the moment that it is made; here a library
//! that is loaded before the C library does it in `mkdir`. A kernel traces what happens; here each buffer holds the same
//! idle periods every time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

const CPUS: &str = "sys/devices/system/cpu";
const TRACING: &str = "sys/kernel/tracing";
/// What a new instance holds.
const INSTANCE: &str = "instance";
/// Idle periods of each CPU in its buffer, and how long each is, ns.
const PERIODS: u64 = 60;
const PERIOD_NS: u64 = 4_000_000;

/// `mkdir` of a trace instance, as a kernel does it: the folder is there with all its files, or not at all.
const MKDIR: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int mkdir(const char *path, mode_t mode)
{
	static const char parent[] = "/instances";
	const char *name = strrchr(path, '/');
	const char *full = getenv("IDLEWISE_TEST_INSTANCE");
	char copy[4096];
	int status;
	pid_t child;

	if (!full || !name || name - path < (long)sizeof(parent) ||
	    strncmp(name - (sizeof(parent) - 1), parent, sizeof(parent) - 1)) {
		int (*next)(const char *, mode_t) = (int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir");

		return next(path, mode);
	}
	snprintf(copy, sizeof(copy), "%s.%d", full, (int)getpid());
	child = fork();
	if (!child) {
		unsetenv("LD_PRELOAD");
		execlp("cp", "cp", "-a", full, copy, (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -1;
	if (status) {
		errno = EIO;
		return -1;
	}
	return rename(copy, path);
}
"#;

/// The library with it, compiled once.
fn library() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let (source, library) = (folder.path().join("mkdir.c"), folder.path().join("mkdir.so"));
        fs::write(&source, MKDIR).unwrap();
        let cc = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let mut compile = Command::new(cc);
        compile.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).arg("-ldl");
        assert!(compile.status().unwrap().success(), "{source:?} does not compile");
        (folder, library)
    });
    path
}

/// The machine.
pub(crate) struct StandIn(TempDir);

impl StandIn {
    pub(crate) fn new(cpus: u32) -> Self {
        let it = Self(tempfile::tempdir().unwrap());
        it.idle_states(cpus);
        it.write("proc/sys/kernel/osrelease", "6.18.0-stand-in\n");
        it.write("proc/meminfo", "MemAvailable:    1048576 kB\n");
        it.write("proc/kallsyms", "ffffffff81000000 T a_function\n");
        it.write("proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\n");
        std::os::unix::fs::symlink("/proc/self", it.path("proc/self")).unwrap();
        // Takes every limit, as a kernel does, and forgets it with the process that holds it.
        fs::create_dir_all(it.path("dev")).unwrap();
        std::os::unix::fs::symlink("/dev/null", it.path("dev/cpu_dma_latency")).unwrap();
        it.tracing(cpus);
        it
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// What a command must be given beside its arguments to meet a kernel here.
    pub(crate) fn prepare(&self, command: &mut Command) {
        command.env("LD_PRELOAD", library()).env("IDLEWISE_TEST_INSTANCE", self.path(INSTANCE));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn idle_states(&self, cpus: u32) {
        let all = format!("0-{}\n", cpus - 1);
        for (file, text) in [
            ("online", all.as_str()),
            ("possible", &all),
            ("present", &all),
            ("cpuidle/current_driver", "haltpoll\n"),
            ("cpuidle/current_governor", "menu\n"),
            ("cpuidle/available_governors", "ladder menu haltpoll \n"),
        ] {
            self.write(&format!("{CPUS}/{file}"), text);
        }
        for (name, value) in [
            ("force", "N"),
            ("guest_halt_poll_allow_shrink", "Y"),
            ("guest_halt_poll_grow", "2"),
            ("guest_halt_poll_grow_start", "50000"),
            ("guest_halt_poll_ns", "0"),
            ("guest_halt_poll_shrink", "2"),
        ] {
            self.write(&format!("sys/module/haltpoll/parameters/{name}"), format!("{value}\n"));
        }
        for cpu in 0..cpus {
            self.write(&format!("{CPUS}/cpu{cpu}/topology/physical_package_id"), "0\n");
            self.write(&format!("{CPUS}/cpu{cpu}/topology/core_id"), format!("{cpu}\n"));
            for (state, name) in ["POLL", "haltpoll idle"].iter().enumerate() {
                let time = state.to_string();
                for (file, value) in [
                    ("name", *name),
                    ("desc", if state == 0 { "CPUIDLE CORE POLL IDLE" } else { "default architecture idle" }),
                    ("latency", &time),
                    ("residency", &time),
                    ("default_status", "enabled"),
                    ("disable", "0"),
                    ("usage", "10"),
                    ("time", "5000"),
                    ("above", "1"),
                    ("below", "1"),
                    ("rejected", "0"),
                ] {
                    self.write(&format!("{CPUS}/cpu{cpu}/cpuidle/state{state}/{file}"), format!("{value}\n"));
                }
            }
        }
    }

    fn tracing(&self, cpus: u32) {
        let events = [
            (
                "power",
                "cpu_idle",
                CPU_IDLE,
                "\tfield:u32 state;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:u32 cpu_id;\toffset:12;\tsize:4;\tsigned:0;\n",
            ),
            ("sched", "sched_switch", SCHED_SWITCH, SWITCH_FIELDS),
            ("sched", "sched_waking", 12, WAKING_FIELDS),
            ("sched", "sched_wakeup_new", 13, WAKING_FIELDS),
            ("ftrace", "print", 5, "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"),
        ];
        let page = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
                    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
        let event = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\
                     \tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
        self.write(&format!("{TRACING}/events/header_page"), page);
        self.write(&format!("{TRACING}/events/header_event"), event);
        for (system, name, id, fields) in events {
            self.write(&format!("{TRACING}/events/{system}/{name}/format"), format(name, id, fields));
            self.write(&format!("{INSTANCE}/events/{system}/{name}/enable"), "0\n");
            self.write(&format!("{INSTANCE}/events/{system}/enable"), "0\n");
        }
        fs::create_dir_all(self.path(&format!("{TRACING}/instances"))).unwrap();
        for (file, text) in [
            ("tracing_on", "1\n"),
            ("trace_clock", "[local] global mono\n"),
            ("buffer_size_kb", "7\n"),
            ("events/enable", "0\n"),
        ] {
            self.write(&format!("{TRACING}/{file}"), text);
            self.write(&format!("{INSTANCE}/{file}"), text);
        }
        for (file, text) in [
            ("current_tracer", "nop\n"),
            ("set_event", ""),
            ("printk_formats", ""),
            ("saved_cmdlines", "7 sleeper\n"),
        ] {
            self.write(&format!("{TRACING}/{file}"), text);
        }
        for file in ["buffer_percent", "trace", "set_event_pid", "options/overwrite", "options/event-fork"] {
            self.write(&format!("{INSTANCE}/{file}"), "");
        }
        for cpu in 0..cpus {
            let events = 4 * PERIODS;
            let stats = format!(
                "entries: {events}\noverrun: 0\ncommit overrun: 0\ndropped events: 0\nread events: 0\n"
            );
            self.write(&format!("{INSTANCE}/per_cpu/cpu{cpu}/stats"), stats);
            self.write(&format!("{INSTANCE}/per_cpu/cpu{cpu}/trace_pipe_raw"), pages(cpu));
        }
    }

    /// Events that a recording has.
    pub(crate) fn events(&self) -> usize {
        let cpus = fs::read_dir(self.path(&format!("{INSTANCE}/per_cpu"))).unwrap().count();
        cpus * 4 * usize::try_from(PERIODS).unwrap()
    }
}

const CPU_IDLE: u16 = 10;
const SCHED_SWITCH: u16 = 11;
const SWITCH_FIELDS: &str = "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
    \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n";
const WAKING_FIELDS: &str = "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\
    \tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n";

fn format(name: &str, id: u16, fields: &str) -> String {
    format!(
        "name: {name}\nID: {id}\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
         \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
         \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
         \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n{fields}\nprint fmt: \"%d\", REC->common_pid\n"
    )
}

/// A CPU's buffer: a task that sleeps, works for 100 us, sleeps.
fn pages(cpu: u32) -> Vec<u8> {
    const PAGE: usize = 4096;
    const HEAD: usize = 16;
    /// Periods in a page. Each takes two events of 16 bytes, two of 64, and the word before each.
    const IN_A_PAGE: u64 = 20;
    const _: () = assert!(IN_A_PAGE as usize * (2 * (4 + 16) + 2 * (4 + 64)) <= PAGE - HEAD);
    let mut out = Vec::new();
    let mut at_ns = 1_000_000_000_u64;
    let mut data: Vec<u8> = Vec::new();
    let mut first = at_ns;
    for period in 0..PERIODS {
        let mut event = |delta: u64, payload: &[u8]| {
            let words = u32::try_from(payload.len() / 4).unwrap();
            data.extend((words | u32::try_from(delta).unwrap() << 5).to_le_bytes());
            data.extend(payload);
            at_ns += delta;
        };
        event(if period % IN_A_PAGE == 0 { 0 } else { 100_000 }, &switch(7, 0));
        event(2000, &idle(0, 1, cpu));
        event(PERIOD_NS, &idle(0, u32::MAX, cpu));
        event(2000, &switch(0, 7));
        if (period + 1) % IN_A_PAGE == 0 || period + 1 == PERIODS {
            out.extend(first.to_le_bytes());
            out.extend((data.len() as u64).to_le_bytes());
            out.append(&mut data);
            out.resize(out.len().next_multiple_of(PAGE), 0);
            at_ns += 100_000;
            first = at_ns;
        }
    }
    out
}

fn common(id: u16, pid: i32) -> Vec<u8> {
    let mut out = Vec::from(id.to_le_bytes());
    out.extend([0, 0]);
    out.extend(pid.to_le_bytes());
    out
}

fn idle(pid: i32, state: u32, cpu: u32) -> Vec<u8> {
    let mut out = common(CPU_IDLE, pid);
    out.extend(state.to_le_bytes());
    out.extend(cpu.to_le_bytes());
    out
}

fn switch(from: i32, to: i32) -> Vec<u8> {
    let mut out = common(SCHED_SWITCH, from);
    for (pid, state) in [(from, Some(u64::from(from != 0))), (to, None)] {
        let mut name = Vec::from(if pid == 0 { &b"swapper"[..] } else { b"sleeper" });
        name.resize(16, 0);
        out.extend(name);
        out.extend(pid.to_le_bytes());
        out.extend(120_i32.to_le_bytes());
        out.extend(state.iter().flat_map(|s| s.to_le_bytes()));
    }
    out
}
