// SPDX-License-Identifier: GPL-2.0-only
//! The machines that live commands are tested on: one made of files, which is there always, and the one that the tests run on,
//! where it has what a test needs.

pub(crate) mod powercap;
pub(crate) mod stand_in;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use idlewise_live::tracefs::Tracefs;
use idlewise_live::watch::Watch;
use idlewise_live::{Host, Journal};

use stand_in::StandIn;

const CPUS: &str = "sys/devices/system/cpu";

/// One test at a time has this machine.
static THIS: Mutex<()> = Mutex::new(());

/// What a test asks of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Idle states, and the governors menu and haltpoll, to switch between.
    Governors,
    /// Trace instances.
    Tracing,
}

/// A machine to test on.
pub(crate) struct Machine {
    root: PathBuf,
    stand_in: Option<StandIn>,
    _one: Option<MutexGuard<'static, ()>>,
}

/// Runs `test` on a machine made of files, then on this one, if that has what is needed.
pub(crate) fn on_every_machine(needs: &[Need], test: impl Fn(&Machine)) {
    test(&Machine::stand_in(2));
    if let Some(this) = Machine::this(needs) {
        test(&this);
    }
}

/// The `idlewise` command.
pub(crate) fn idlewise() -> Command {
    Command::new(env!("CARGO_BIN_EXE_idlewise"))
}

/// Bytes of a command's output.
pub(crate) fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Machine {
    /// One made of files.
    pub(crate) fn stand_in(cpus: u32) -> Self {
        let it = StandIn::new(cpus);
        Self { root: it.root().to_owned(), stand_in: Some(it), _one: None }
    }

    /// This one; or nothing, and what it lacks is said.
    pub(crate) fn this(needs: &[Need]) -> Option<Self> {
        let one = THIS.lock().unwrap_or_else(PoisonError::into_inner);
        let this = Self { root: PathBuf::from("/"), stand_in: None, _one: Some(one) };
        let lacks = needs.iter().find_map(|need| this.lacks(*need)).or_else(|| this.is_taken());
        if let Some(why) = &lacks {
            eprintln!("skipped: live commands on this machine's own kernel: {why}");
        }
        lacks.is_none().then_some(this)
    }

    fn lacks(&self, need: Need) -> Option<String> {
        let host = self.host();
        match need {
            Need::Governors => {
                if let Err(why) = Watch::open(&host) {
                    return Some(why.to_string());
                }
                let idle = self.path(&format!("{CPUS}/cpuidle"));
                let available = fs::read_to_string(idle.join("available_governors")).unwrap_or_default();
                if !available.contains("menu") || !available.contains("haltpoll") {
                    return Some("it does not offer the governors menu and haltpoll".to_owned());
                }
                let file = fs::OpenOptions::new().write(true).open(idle.join("current_governor"));
                file.err().map(|_| "switching governors needs root".to_owned())
            }
            Need::Tracing => match Tracefs::of(&host) {
                Err(why) => Some(why.to_string()),
                Ok(_) if !host.tracefs().join("instances").is_dir() => Some("no trace instances".to_owned()),
                Ok(_) => None,
            },
        }
    }

    /// Waits for another session, and for what it left to be restored.
    fn is_taken(&self) -> Option<String> {
        let mut why = None;
        for _ in 0..50 {
            why = Journal::open_guarded_by(&self.host(), None).err();
            why.as_ref()?;
            sleep(Duration::from_millis(200));
        }
        why.map(|e| e.to_string())
    }

    /// Whether it is the one that the tests run on.
    pub(crate) fn is_this(&self) -> bool {
        self.stand_in.is_none()
    }

    /// The files that it is made of.
    pub(crate) fn files(&self) -> Option<&StandIn> {
        self.stand_in.as_ref()
    }

    pub(crate) fn can_trace(&self) -> bool {
        self.lacks(Need::Tracing).is_none()
    }

    pub(crate) fn host(&self) -> Host {
        Host::below(&self.root)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// `idlewise COMMAND` on it.
    pub(crate) fn idlewise(&self, command: &str) -> Command {
        let mut out = idlewise();
        out.arg(command).arg("--root").arg(&self.root);
        if let Some(files) = &self.stand_in {
            files.prepare(&mut out);
        }
        out
    }

    /// Everything that a session may change.
    pub(crate) fn state(&self) -> BTreeMap<PathBuf, String> {
        let mut files = vec![
            self.path(&format!("{CPUS}/cpuidle/current_governor")),
            self.path("sys/module/haltpoll/parameters/guest_halt_poll_ns"),
        ];
        for cpu in 0..64 {
            for state in 0..10 {
                files.push(self.path(&format!("{CPUS}/cpu{cpu}/cpuidle/state{state}/disable")));
            }
        }
        let tracing = self.host().tracefs();
        for file in
            ["tracing_on", "current_tracer", "trace_clock", "buffer_size_kb", "set_event", "events/enable"]
        {
            files.push(tracing.join(file));
        }
        let read = |f: PathBuf| fs::read_to_string(&f).ok().map(|text| (f, text));
        let mut out: BTreeMap<PathBuf, String> = files.into_iter().filter_map(read).collect();
        let limit = fs::File::open(self.path("dev/cpu_dma_latency")).and_then(|mut f| {
            let mut bytes = [0; 4];
            std::io::Read::read_exact(&mut f, &mut bytes).map(|()| format!("{bytes:?}"))
        });
        out.insert("limit".into(), limit.unwrap_or_default());
        out.insert("journal".into(), self.path("run/idlewise/journal").exists().to_string());
        out.insert("instances".into(), format!("{:?}", self.instances()));
        out
    }

    /// Our trace instances.
    pub(crate) fn instances(&self) -> Vec<String> {
        let list = fs::read_dir(self.host().tracefs().join("instances")).into_iter().flatten().flatten();
        let names = list.map(|e| e.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|n| n.starts_with("idlewise-")).collect();
        names.sort();
        names
    }

    /// Waits until nobody else changes it, and lets it go again.
    pub(crate) fn wait_for_others(&self) {
        for _ in 0..300 {
            if Journal::open_guarded_by(&self.host(), None).is_ok() {
                return;
            }
            sleep(Duration::from_millis(200));
        }
    }
}
