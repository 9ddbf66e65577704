// SPDX-License-Identifier: GPL-2.0-only
//! A bench for foreign governors: a folder with a C file, a cache, and a few CPUs to try it on.
#![allow(unreachable_pub, reason = "every test uses its part")]

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_governor::{Choice, Governor, GovernorError, GovernorSource, Inputs, Instance, Spec, Workshop};
use idlewise_model::{IdleTable, NO_LATENCY_LIMIT_NS};
use tempfile::TempDir;

use crate::life;

pub const TICK_NS: u64 = 4_000_000;

/// What every governor here begins and ends with.
const FRAME: &str = r#"// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpuidle.h>
#include <linux/module.h>
#include <linux/tick.h>

@BODY

static struct cpuidle_governor frame_governor = {
	.name = "frame",
	.rating = 7,
	.enable = on,
	.select = pick,
	.reflect = told,
};

static int __init frame_init(void)
{
	@INIT
	return cpuidle_register_governor(&frame_governor);
}
postcore_initcall(frame_init);
"#;

/// A governor's text from its parts; the rest does nothing.
#[derive(Default)]
pub struct Parts<'a> {
    /// Statements of select, which gives 0 unless they return something.
    pub select: &'a str,
    pub reflect: &'a str,
    pub enable: &'a str,
    pub init: &'a str,
    /// Stands before everything.
    pub top: &'a str,
}

impl Parts<'_> {
    pub fn text(&self) -> String {
        let function =
            |head: &str, body: &str, end: &str| format!("static {head}\n{{\n\t{body}\n\t{end}\n}}\n");
        let driver = "struct cpuidle_driver *drv, struct cpuidle_device *dev";
        let body = [
            self.top.to_owned(),
            function(&format!("int pick({driver}, bool *stop_tick)"), self.select, "return 0;"),
            function("void told(struct cpuidle_device *dev, int index)", self.reflect, ""),
            function(&format!("int on({driver})"), self.enable, "return 0;"),
        ];
        FRAME.replace("@BODY", &body.join("\n")).replace("@INIT", self.init)
    }
}

/// A folder for one test.
pub struct Bench {
    pub folder: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Writes a file, below the folder.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Where objects are kept: in a folder of all tests, which need the same of idlewise's own then.
    pub fn workshop(&self) -> Workshop {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("governors");
        Workshop::from_env().with_cache(&cache).with_patience(1)
    }

    pub fn find(&self, path: &Path, params: &str) -> Result<Governor, GovernorError> {
        let spec: Spec = format!("{}{params}", path.display()).parse()?;
        Governor::open_in(&GovernorSource::named_by_user(spec), &self.workshop())
    }

    /// The governor that `text` is.
    pub fn governor(&self, text: &str) -> Governor {
        let path = self.file("mine.c", text);
        self.find(&path, "").unwrap_or_else(|e| panic!("{e}"))
    }
}

/// Four states, as on a PC.
pub fn table() -> IdleTable {
    life::table(&[(0, 0), (2, 2), (33, 60), (133, 600)])
}

pub fn inputs(sleep_length_ns: i64) -> Inputs {
    Inputs {
        now_ns: 1000,
        sleep_length_ns,
        delta_tick_ns: sleep_length_ns.min(3_000_000),
        latency_limit_ns: NO_LATENCY_LIMIT_NS,
        ..Inputs::default()
    }
}

/// Asks `times` times on each of two CPUs, 5 and 6, in turn; the choices.
pub fn ask(instance: &mut Instance, times: u32) -> Result<Vec<(i32, bool)>, GovernorError> {
    let slots = [instance.add_cpu(5, &table(), 1024)?, instance.add_cpu(6, &table(), 512)?];
    let mut out = Vec::new();
    for i in 0..times {
        for slot in slots {
            let Choice { index, stop_tick, .. } = instance.select(slot, &inputs(i64::from(i) * 10_000));
            out.push((index, stop_tick));
            let entered = usize::try_from(index).unwrap_or(0);
            instance.device(slot).last_residency_ns = i64::from(i) * 9000;
            instance.reflect(slot, entered, 2000);
        }
    }
    Ok(out)
}

/// Asks in a process of its own if that is due.
pub fn run(governor: &Governor, times: u32) -> Result<Vec<(i32, bool)>, GovernorError> {
    governor.run(|loader| ask(&mut loader.load(TICK_NS)?, times))
}

/// The words of the error that asking must end with.
pub fn refused(governor: &Governor) -> String {
    run(governor, 20).map(|_| ()).unwrap_err().to_string()
}

/// All of `words` must be in what finding a governor with this text ends with.
pub fn not_compiled(text: &str, words: &[&str]) {
    let bench = Bench::new();
    let path = bench.file("mine.c", text);
    let said = bench.find(&path, "").unwrap_err().to_string();
    for word in words {
        assert!(said.contains(word), "no {word:?} in {said}");
    }
    assert!(!said.contains("cache/"), "a path of ours in {said}");
}
