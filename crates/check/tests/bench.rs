// SPDX-License-Identifier: GPL-2.0-only
//! Governors made for a test, and what is found in them.

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_check::{CheckReport, CheckRequest, Property, SEQUENCES, Verdict, check};
use idlewise_checkout::thorough;
use idlewise_governor::{Governor, GovernorSource, Spec, Workshop};
use tempfile::TempDir;

/// A governor that has every property: the deepest enabled state that keeps the limit and pays until the next timer.
const KEEPER: &str = r#"// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/tick.h>

@TOP

static int pick(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	s64 limit_ns = cpuidle_governor_latency_req(dev->cpu);
	ktime_t delta_tick;
	s64 sleep_ns = tick_nohz_get_sleep_length(&delta_tick);
	bool stopped = tick_nohz_tick_stopped();
	int idx = -1;
	int i;

	for (i = 0; i < drv->state_count; i++) {
		struct cpuidle_state *s = &drv->states[i];

		if (dev->states_usage[i].disable)
			continue;
		if (idx < 0 || (s->exit_latency_ns <= limit_ns && s->target_residency_ns <= sleep_ns))
			idx = i;
	}
	if (idx < 0)
		idx = 0;
	*stop_tick = !(drv->states[idx].flags & CPUIDLE_FLAG_POLLING);
	(void)stopped;
	@SELECT
	return idx;
}

static void told(struct cpuidle_device *dev, int index)
{
	dev->last_state_idx = index;
	@REFLECT
}

static struct cpuidle_governor keeper_governor = {
	.name		= "keeper",
	.rating		= 1,
	.select		= pick,
	.reflect	= told,
};

static int __init keeper_init(void)
{
	return cpuidle_register_governor(&keeper_governor);
}
postcore_initcall(keeper_init);
"#;

/// What is put into the governor that has every property.
#[derive(Clone, Copy, Default)]
pub(crate) struct Fault<'a> {
    /// Before the functions.
    pub(crate) top: &'a str,
    /// Statements of select after its choice, which is in `idx` and `*stop_tick`.
    pub(crate) select: &'a str,
    /// Statements of reflect.
    pub(crate) reflect: &'a str,
}

/// A folder with C files and what is compiled of them.
pub(crate) struct Bench {
    pub(crate) folder: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn open(&self, path: &Path) -> Governor {
        let workshop =
            Workshop::from_env().with_cache(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("governors"));
        let source = GovernorSource::named_by_user(Spec::new(path.to_str().unwrap()));
        Governor::open_in(&source, &workshop).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The governor that has every property but for `fault`.
    pub(crate) fn made(&self, fault: Fault<'_>) -> Governor {
        let text = KEEPER.replace("@TOP", fault.top);
        let text = text.replace("@SELECT", fault.select).replace("@REFLECT", fault.reflect);
        self.open(&self.file("made.c", &text))
    }
}

/// Checks all properties, in one round.
pub(crate) fn all(governor: &Governor) -> CheckReport {
    some(governor, &Property::ALL)
}

/// Checks `properties`, in one round.
pub(crate) fn some(governor: &Governor, properties: &[Property]) -> CheckReport {
    on(governor, properties, 1)
}

/// The same on so many sequences of each machine, where not all are asked for.
pub(crate) fn on(governor: &Governor, properties: &[Property], sequences: u64) -> CheckReport {
    let sequences = if thorough() { SEQUENCES } else { sequences };
    let request =
        CheckRequest { governor: governor.clone(), properties: properties.to_vec(), seed: 1, sequences };
    check(&request, |_| false).unwrap_or_else(|e| panic!("{e}"))
}

/// The properties with that verdict.
pub(crate) fn with(report: &CheckReport, verdict: Verdict) -> Vec<Property> {
    report.properties.iter().filter(|p| p.verdict == verdict).map(|p| p.property).collect()
}

/// Whether the compiler has the sanitizers; says so where it has not.
pub(crate) fn has_sanitizers(report: &CheckReport) -> bool {
    let missing = report.properties.iter().find(|p| p.verdict == Verdict::NotChecked);
    if let Some(missing) = missing {
        println!("skipped: {}: {}", missing.property, missing.why.as_deref().unwrap_or_default());
    }
    missing.is_none()
}
