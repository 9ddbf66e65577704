// SPDX-License-Identifier: GPL-2.0-only
//! Setting the recorder up, reading what it saw, taking it down.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use idlewise_model::{Note, NoteId};
use rustix::thread::{CpuSet, sched_setaffinity};

use super::asm::Code;
use super::btf::{Btf, BtfError};
use super::decision::{Counts, Decision, Reader, time_of};
use super::layout::{Layout, MemoryLayout, kept};
use super::listing;
use super::program::{self, Maps};
use super::sys::{Map, Program, Purpose, Ring, count_run_time};
use idlewise_live::{Host, LiveError};
use idlewise_platform::parse_cpu_list;

/// What the BPF programs record, and how much memory their ring buffer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecorderOptions {
    /// Room for records of each CPU until they are drained, bytes; made a power of two of pages.
    pub ring_bytes: u32,
    /// Let the kernel measure how long the programs take. That costs some ns itself.
    pub measure_cost: bool,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self { ring_bytes: 16 << 20, measure_cost: false }
    }
}

/// What a recording came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The governor that was in charge.
    pub governor: String,
    /// Decisions that were not drained before, by CPU and time.
    pub decisions: Vec<Decision>,
    /// What was seen, in all.
    pub counts: Counts,
    /// What was seen on each CPU that could be recorded.
    pub cpus: BTreeMap<u32, Counts>,
    /// Why no governor can be compared with the decisions; nothing where one can.
    pub unproven: Option<String>,
    /// What the programs took, where it was measured.
    pub cost: Option<Cost>,
    /// What a reader must know.
    pub notes: Vec<Note>,
}

/// What the programs took, by the kernel's own measure, which adds some ns to each run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// For each state that was entered and left, ns.
    pub entry_ns: f64,
    /// For each time the scheduler ran, whatever for, ns.
    pub schedule_ns: f64,
}

/// The programs in the kernel, and our side of them. What it attached goes with it.
pub struct Recorder {
    host: Host,
    governor: String,
    layout: Layout,
    cpus: Vec<Cpu>,
    kept: Map,
    /// The sleep length is recorded wherever this governor asks for it.
    tells_all: bool,
    /// Programs in the order of their links.
    programs: Vec<Program>,
    links: Vec<OwnedFd>,
    notes: Vec<Note>,
    /// The programs look their CPU's ring up in it.
    _rings: Map,
    /// Keeps the kernel measuring.
    measuring: Option<OwnedFd>,
}

struct Cpu {
    number: u32,
    ring: Ring,
    reader: Reader,
    counts: Counts,
}

/// A CPU gets this long to arm a timer of ours.
const TIMER: Duration = Duration::from_micros(50);
/// All rings together are no larger than this.
const RINGS_MAX: u64 = 1 << 30;

impl Recorder {
    /// Starts recording on every CPU of the running machine.
    ///
    /// # Errors
    /// [`LiveError`] that says what this kernel, or who asks, lacks for it.
    pub fn start(host: &Host, options: RecorderOptions) -> Result<Self, LiveError> {
        if host != &Host::below(Path::new("/")) {
            return Err(LiveError::lacks(
                "a governor's inputs can be recorded on the running machine only, not on a copy of its files",
            ));
        }
        let governor = governor_of(host)?;
        let btf = kernel_types(host)?;
        let possible = listed_cpus(host, "possible")?;
        let states = states_of(host)?;
        let layout = Layout::of(&btf, &governor, states).map_err(|e| lacking(&e))?;
        let ring_bytes = ring_bytes(options.ring_bytes, possible.len());
        let kept = Map::per_cpu(kept::LEN, possible.len()).map_err(refused)?;
        let (rings, cpus) = rings(&possible, ring_bytes).map_err(refused)?;
        let maps = Maps { kept: kept.number(), rings: rings.number() };

        let mut notes = Vec::new();
        let tells_all = !matches!(layout.memory, MemoryLayout::None) || governor == "haltpoll";
        if !tells_all {
            notes.push(NoteId::InputsIncomplete.note(format!(
                "the state of {governor} and the sleep length that it is given are not recorded: known are menu, ladder, haltpoll"
            )));
        }
        if layout.own_limit.is_none() {
            notes.push(NoteId::InputsIncomplete.note(
                "latency limits of single CPUs are not recorded: the kernel does not say where they are",
            ));
        }
        if layout.iowait.is_none() {
            notes.push(NoteId::InputsIncomplete.note(
                "tasks that wait for I/O are not recorded: the kernel does not say where it counts them",
            ));
        }
        let limit = find_limit(host, &layout)?;
        if limit.is_none() {
            notes.push(NoteId::InputsIncomplete.note(
                "the latency limit is not recorded: /dev/cpu_dma_latency is not there or is something else",
            ));
        }
        let measuring = options.measure_cost.then(count_run_time).transpose().map_err(refused)?;
        let mut recorder = Self {
            host: host.clone(),
            governor,
            layout,
            cpus,
            kept,
            tells_all,
            programs: vec![],
            links: vec![],
            notes,
            _rings: rings,
            measuring,
        };
        // The newer one also sees the idle task give way to itself.
        let schedule =
            if btf.tracepoint("sched_entry_tp").is_ok() { "sched_entry_tp" } else { "sched_switch" };
        let code = program::schedule(&recorder.layout, maps, limit);
        recorder.attach(&btf, schedule, code)?;
        let code = program::idle(&recorder.layout, maps, limit);
        recorder.attach(&btf, "cpu_idle", code)?;
        // Programs do nothing on a CPU whose variables are not known, so there all of them begin at once.
        find_bases(host, &btf, &recorder.layout, maps)?;
        recorder.note_unknown_cpus(&possible)?;
        Ok(recorder)
    }

    fn attach(&mut self, btf: &Btf, tracepoint: &str, code: Option<Code>) -> Result<(), LiveError> {
        let (program, link) = attach(btf, tracepoint, code)?;
        self.programs.push(program);
        self.links.push(link);
        Ok(())
    }

    fn note_unknown_cpus(&mut self, possible: &[u32]) -> Result<(), LiveError> {
        let known = kept_values(&self.kept.get(0).map_err(refused)?, kept::BASE);
        for cpu in listed_cpus(&self.host, "online")? {
            let at = possible.iter().position(|p| *p == cpu);
            if at.and_then(|at| known.get(at)).is_none_or(|base| *base == 0) {
                self.notes.push(
                    NoteId::InputsIncomplete
                        .note(format!("CPU {cpu} is not recorded: this process may not run there")),
                );
            }
        }
        Ok(())
    }

    /// The programs that [`Self::start`] would load into this kernel now, as [`listing::programs`] writes them. Loads nothing,
    /// and takes no permission but to read the kernel's types.
    ///
    /// # Errors
    /// [`LiveError`] that says what this kernel lacks.
    pub fn programs(host: &Host) -> Result<String, LiveError> {
        let (governor, btf) = (governor_of(host)?, kernel_types(host)?);
        listing::programs(&btf, &governor, states_of(host)?).map_err(|e| lacking(&e))
    }

    /// The governor that was in charge at the start.
    #[must_use]
    pub fn governor(&self) -> &str {
        &self.governor
    }

    /// What was seen so far, as far as it was drained.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut all = Counts::default();
        self.cpus.iter().for_each(|cpu| all.add(&cpu.counts));
        all
    }

    /// Forgets what was seen so far: what comes from now on is of interest.
    pub fn forget(&mut self) {
        drop(self.drain());
        for cpu in &mut self.cpus {
            // The last one is not reported yet.
            cpu.counts = Counts { entered: u64::from(cpu.reader.is_pending()), ..Counts::default() };
        }
    }

    /// Takes the decisions that are complete: all but each CPU's last. By CPU, then by time.
    pub fn drain(&mut self) -> Vec<Decision> {
        let mut decisions = Vec::new();
        for Cpu { ring, reader, counts, .. } in &mut self.cpus {
            ring.drain(|bytes| reader.record(&self.layout, bytes, counts, |d| decisions.push(d)));
        }
        decisions
    }

    /// Takes records up to `until_ns`; later ones are lost.
    fn take(&mut self, until_ns: u64, decisions: &mut Vec<Decision>) {
        for Cpu { ring, reader, counts, .. } in &mut self.cpus {
            ring.drain(|bytes| {
                if time_of(bytes) <= until_ns {
                    reader.record(&self.layout, bytes, counts, |d| decisions.push(d));
                }
            });
        }
    }

    /// What the programs took so far.
    fn cost(&self) -> Cost {
        let mut each = self.programs.iter().map(|program| {
            let (ns, runs) = (said_of(program, "run_time_ns:"), said_of(program, "run_cnt:"));
            ns as f64 / runs.max(1) as f64
        });
        let schedule_ns = each.next().unwrap_or(0.0);
        // A stay is an entry and an exit.
        Cost { entry_ns: 2.0 * each.next().unwrap_or(0.0), schedule_ns }
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// [`LiveError`] when the machine can no longer be asked about its governor.
    pub fn stop(mut self) -> Result<Recorded, LiveError> {
        let cost = self.measuring.is_some().then(|| self.cost());
        // One program goes before the other: what only one has seen does not count.
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let until_ns = now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs();
        self.links.clear();
        let mut decisions = Vec::new();
        self.take(until_ns, &mut decisions);
        let kept = self.kept.get(0).map_err(refused)?;
        let known = kept_values(&kept, kept::BASE);
        let dropped = kept_values(&kept, kept::DROPS);
        let (mut counts, mut cpus) = (Counts::default(), BTreeMap::new());
        for ((cpu, base), dropped) in self.cpus.into_iter().zip(known).zip(dropped) {
            decisions.extend(cpu.reader.finish());
            let of_cpu = Counts { dropped, ..cpu.counts };
            counts.add(&of_cpu);
            if base != 0 {
                cpus.insert(cpu.number, of_cpu);
            }
        }
        if counts.dropped > 0 {
            let dropped = counts.dropped;
            self.notes.push(NoteId::InputsIncomplete.note(format!(
                "{dropped} records were dropped, because the buffer was full: read it \
                more often, or make it larger"
            )));
        }
        let unproven = match governor_of(&self.host)? {
            after if after != self.governor => {
                Some(format!("the governor changed from {} to {after} meanwhile", self.governor))
            }
            _ if self.tells_all => None,
            _ => Some(format!("not all inputs of {} are recorded", self.governor)),
        };
        let (governor, notes) = (self.governor, self.notes);
        Ok(Recorded { governor, decisions, counts, cpus, unproven, cost, notes })
    }
}

fn governor_of(host: &Host) -> Result<String, LiveError> {
    let folder = host.sys.join("devices/system/cpu/cpuidle");
    // Some kernels let the governor be seen but not be changed.
    let ways = ["current_governor", "current_governor_ro"].map(|name| folder.join(name));
    let path = ways.iter().find(|path| path.exists()).unwrap_or(&ways[0]);
    Ok(fs::read_to_string(path).map_err(LiveError::io(path))?.trim().to_owned())
}

fn kernel_types(host: &Host) -> Result<Btf, LiveError> {
    let path = host.sys.join("kernel/btf/vmlinux");
    let bytes = match fs::read(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(LiveError::lacks(format!(
                "{}: not there, so it is not known where this kernel keeps its governor's inputs (built without \
                 CONFIG_DEBUG_INFO_BTF); record without them",
                path.display()
            )));
        }
        read => read.map_err(LiveError::io(&path))?,
    };
    Btf::parse(bytes).map_err(|e| LiveError::file(&path, e))
}

fn lacking(e: &BtfError) -> LiveError {
    LiveError::lacks(format!(
        "{e}, so its governor's inputs cannot be recorded (needs Linux 5.8 or newer with cpuidle); record without them"
    ))
}

/// What bpf(2) says.
fn refused(e: io::Error) -> LiveError {
    refused_for(&e, "")
}

/// The same, and `what` for.
fn refused_for(e: &io::Error, what: &str) -> LiveError {
    if e.kind() != io::ErrorKind::PermissionDenied {
        return LiveError::lacks(format!("bpf(2): {e}{what}"));
    }
    LiveError::NotRoot {
        why: format!(
            "bpf(2): {e}: recording a governor's inputs takes root (or CAP_BPF and CAP_PERFMON) and a kernel that lets BPF read \
             its memory (lockdown none or integrity){what}"
        ),
    }
}

/// CPUs as sysfs lists them, as in `0-3,5`.
fn listed_cpus(host: &Host, which: &str) -> Result<Vec<u32>, LiveError> {
    let path = host.sys.join("devices/system/cpu").join(which);
    let text = fs::read_to_string(&path).map_err(LiveError::io(&path))?;
    // A kernel without such CPUs has an empty list.
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    parse_cpu_list(&text).map_err(|_| LiveError::file(&path, format!("{text:?} is no list of CPUs")))
}

/// States of the CPU that has most.
fn states_of(host: &Host) -> Result<u32, LiveError> {
    let folder = host.sys.join("devices/system/cpu");
    let of =
        |cpu: u32| (0..).take_while(|i| folder.join(format!("cpu{cpu}/cpuidle/state{i}")).is_dir()).count();
    match listed_cpus(host, "online")?.into_iter().map(of).max() {
        Some(states @ 1..=16) => Ok(states as u32),
        _ => Err(LiveError::lacks(format!(
            "{}: no CPU has idle states, so no governor is asked here (no cpuidle driver)",
            folder.display()
        ))),
    }
}

fn ring_bytes(wanted: u32, cpus: usize) -> u32 {
    let share = u32::try_from(RINGS_MAX / cpus.max(1) as u64).unwrap_or(u32::MAX);
    let least = rustix::param::page_size().next_power_of_two() as u32;
    let bytes = wanted.min(share).max(least).min(1 << 30);
    if bytes.is_power_of_two() { bytes } else { bytes.next_power_of_two() >> 1 }
}

/// A table of a ring for each of `possible`, and our side of them.
fn rings(possible: &[u32], bytes: u32) -> io::Result<(Map, Vec<Cpu>)> {
    let entries = possible.iter().max().map_or(1, |cpu| cpu + 1);
    // Only a model for what the table holds.
    let table = Map::of_maps(&Map::ring(bytes)?, entries)?;
    let mut cpus = Vec::new();
    for cpu in possible {
        let ring = Map::ring(bytes)?;
        table.set(*cpu, &ring.number().to_ne_bytes())?;
        let (ring, reader) = (Ring::new(ring, bytes)?, Reader::default());
        cpus.push(Cpu { number: *cpu, ring, reader, counts: Counts::default() });
    }
    Ok((table, cpus))
}

fn load(purpose: Purpose, what: &str, code: Option<Code>) -> Result<Program, LiveError> {
    let Some(code) = code else { unreachable!("the program for {what} has a jump that leads nowhere") };
    Program::load(purpose, &code.insns).map_err(|(error, log)| {
        let last = log.lines().rev().find(|l| !l.starts_with("processed")).unwrap_or_default();
        refused_for(&error, &format!("; the kernel did not take the program for {what}: {last}"))
    })
}

fn attach(btf: &Btf, tracepoint: &str, code: Option<Code>) -> Result<(Program, OwnedFd), LiveError> {
    let point = btf.tracepoint(tracepoint).map_err(|e| lacking(&e))?;
    let program = load(Purpose::Tracepoint(point.id), tracepoint, code)?;
    let link = program.attach().map_err(refused)?;
    Ok((program, link))
}

/// Where the kernel keeps the global latency limit.
///
/// No list of symbols has it. But a file of `/dev/cpu_dma_latency` refers to it, so a program that runs as part of this process
/// can go there from our own open file. Nothing is asked for through that file.
fn find_limit(host: &Host, layout: &Layout) -> Result<Option<u64>, LiveError> {
    let Ok(mut file) = File::open(host.dev.join("cpu_dma_latency")) else { return Ok(None) };
    let found = Map::array(16, 1).map_err(refused)?;
    let number = file.as_raw_fd().unsigned_abs();
    let code = program::find_limit(&layout.limit, found.number(), number);
    load(Purpose::Once, "the latency limit", code)?.run().map_err(refused)?;
    let seen = found.get(0).map_err(refused)?;
    let mut limit = [0; 4];
    if file.read_exact(&mut limit).is_err() {
        return Ok(None);
    }
    // What is there must be what the file says.
    let address = seen.get(..8).and_then(|w| w.try_into().ok()).map_or(0, u64::from_ne_bytes);
    let same = seen.get(8..12) == Some(&limit) && address != 0;
    Ok(same.then_some(address))
}

/// Lets every CPU arm a timer, which shows where its own variables are.
fn find_bases(host: &Host, btf: &Btf, layout: &Layout, maps: Maps) -> Result<(), LiveError> {
    let (_program, _link) = attach(btf, "hrtimer_start", program::find_base(layout, maps))?;
    let online = listed_cpus(host, "online")?;
    let visit = move || {
        for cpu in online {
            let mut only = CpuSet::new();
            if (cpu as usize) < CpuSet::MAX_CPU {
                only.set(cpu as usize);
            }
            if sched_setaffinity(None, &only).is_ok() {
                std::thread::sleep(TIMER);
            }
        }
    };
    // A thread of its own: it does not come back to where it was.
    let thread = std::thread::Builder::new().spawn(visit).map_err(LiveError::io(Path::new("a thread")))?;
    let _ = thread.join();
    Ok(())
}

/// A word of [`kept`] of every CPU.
fn kept_values(values: &[u8], at: i16) -> Vec<u64> {
    let at = usize::try_from(at).unwrap_or(0);
    let word = |cpu: &[u8]| cpu.get(at..at + 8).and_then(|w| w.try_into().ok()).map_or(0, u64::from_ne_bytes);
    values.chunks_exact(kept::LEN as usize).map(word).collect()
}

/// A number that the kernel tells of a program.
fn said_of(program: &Program, what: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", program.number())).unwrap_or_default();
    text.lines().find_map(|l| l.strip_prefix(what)).and_then(|n| n.trim().parse().ok()).unwrap_or(0)
}
