// SPDX-License-Identifier: GPL-2.0-only
//! What guests are given to do.

use crate::{BootError, Configuration};

/// A load that a guest runs, by the name that the command line has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name on the command line.
    pub name: &'static str,
    pub what: &'static str,
    /// The guest's command; `$SECONDS` and `$CPUS` are set.
    pub command: &'static str,
    /// What it is made of beyond the guest's own programs.
    pub(crate) parts: &'static [Part],
}

/// One null device, whose answers come by a timer, so that there is time to sleep.
macro_rules! null_device {
    ($more:literal) => {
        concat!(
            "null_blk.nr_devices=1 null_blk.gb=1 null_blk.irqmode=2 null_blk.completion_nsec=300000",
            $more
        )
    };
}

impl Workload {
    /// The parameters of the guest's kernel for it.
    pub(crate) fn kernel_parameters(&self) -> &'static str {
        if self.parts.contains(&Part::Fio) {
            null_device!("")
        } else if self.parts.contains(&Part::Compiler) {
            null_device!(" null_blk.memory_backed=1")
        } else {
            ""
        }
    }

    /// The configuration of the guest's kernel for it.
    #[must_use]
    pub fn configuration(&self) -> Configuration {
        if self.parts.iter().any(|part| matches!(part, Part::Compiler | Part::Iperf)) {
            Configuration::Larger
        } else {
            Configuration::Small
        }
    }
}

/// Programs that are fetched or built when a workload needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    RtTests,
    /// rt-app, for a file of the user's.
    RtApp,
    Fio,
    /// tcc with its own sources, and make.
    Compiler,
    Iperf,
}

impl Part {
    /// The folder in `kernel/guest` with what we add to it.
    pub(crate) fn folder(self) -> Option<&'static str> {
        match self {
            Self::RtTests | Self::RtApp | Self::Fio => None,
            Self::Compiler => Some("compile"),
            Self::Iperf => Some("network"),
        }
    }
}

/// The loads that `idlewise boot` offers.
pub const WORKLOADS: [Workload; 13] = [
    Workload {
        name: "timer",
        what: "a thread per CPU that sleeps for 20 us to 50 ms, log-uniform, and works a little",
        command: "load timer $SECONDS $CPUS",
        parts: &[],
    },
    Workload {
        name: "frames",
        what: "a thread per CPU with 60 Hz frames in two stages, a wait between them",
        command: "load frames $SECONDS $CPUS",
        parts: &[],
    },
    Workload {
        name: "pingpong",
        what: "on each CPU a task that wakes a partner on the next one, in bursts",
        command: "load pingpong $SECONDS $CPUS",
        parts: &[],
    },
    Workload {
        name: "idle",
        what: "nothing but the kernel's own activity",
        command: "sleep $SECONDS",
        parts: &[],
    },
    Workload {
        name: "cyclictest",
        what: "rt-tests' cyclictest, a thread per CPU, without its latency limit of 0",
        command: "cyclictest -q -a -t $CPUS -i 3000 -d 517 -D $SECONDS --laptop",
        parts: &[Part::RtTests],
    },
    Workload {
        name: "hackbench",
        what: "rt-tests' hackbench over pipes with short pauses, for the given time",
        command: "end=$(($(date +%s) + SECONDS)); while [ $(date +%s) -lt $end ]; do \
                  hackbench --pipe --groups 1 --fds 4 --loops 20; sleep 0.02; done",
        parts: &[Part::RtTests],
    },
    Workload {
        name: "fio",
        what: "fio's random reads on CPU 0 from a null device that answers by a timer after 300 us",
        command: "fio --name=reads --cpus_allowed=0 --filename=/dev/nullb0 --rw=randread --bs=4k --ioengine=psync --direct=1 \
                  --thinktime=1000 --thinktime_blocks=8 --time_based --runtime=$SECONDS --randseed=1 --thread \
                  --output-format=terse",
        parts: &[Part::Fio],
    },
    Workload {
        name: "compile",
        what: "a C compiler that compiles itself, its sources on a disk, with a job for each CPU",
        command: "compile $SECONDS $CPUS",
        parts: &[Part::Compiler],
    },
    Workload {
        name: "compile-serial",
        what: "the same with one job",
        command: "compile $SECONDS 1",
        parts: &[Part::Compiler],
    },
    Workload {
        name: "network",
        what: "iperf's requests over loopback: four clients with bursts of five, answered after 1 ms",
        command: "requests $SECONDS 1 5:0.021 5:0.033 5:0.047 5:0.071",
        parts: &[Part::Iperf],
    },
    Workload {
        name: "network-light",
        what: "the same with single requests of two clients, 14 a second in all",
        command: "requests $SECONDS 2 1:0.11 1:0.19",
        parts: &[Part::Iperf],
    },
    Workload {
        name: "network-busy",
        what: "the same from two clients, without pauses, answered at once",
        command: "requests $SECONDS 0 10:0 10:0",
        parts: &[Part::Iperf],
    },
    Workload {
        name: "rt-app",
        what: "rt-app with the file of --rt-app-file",
        command: "rt-app /lab/rt-app.json",
        parts: &[Part::RtApp],
    },
];

/// The workload called `name`.
///
/// # Errors
/// [`BootError::NoWorkload`] with the names that there are.
pub fn workload(name: &str) -> Result<Workload, BootError> {
    WORKLOADS.into_iter().find(|w| w.name == name).ok_or_else(|| {
        let names: Vec<&str> = WORKLOADS.iter().map(|w| w.name).collect();
        BootError::NoWorkload { name: name.to_owned(), known: names }
    })
}
