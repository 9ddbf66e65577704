// SPDX-License-Identifier: GPL-2.0-only
//! Where the parts of a recording lie in a directory. Read are
//! - pages: `cpuN`, `cpuN.raw`, `trace.dat.cpuN` and the like, or `cpuN/trace_pipe_raw`; in the directory itself or in its
//!   `per_cpu`, `traces`, `trace`, `raw`;
//! - descriptions: `events/SYSTEM/EVENT/format` or `formats/SYSTEM/EVENT/format`, `header_page` beside the systems;
//! - facts: `saved_cmdlines`, `printk_formats`, `trace_clock`, `kallsyms`, `uname` (the output of `uname -rm`), `stats` beside
//!   a `trace_pipe_raw`.
//!
//! All of these may as well lie in the directory's `tracing`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::TraceError;
use crate::kernel::ring_buffer::MAX_CPUS;

/// The files of a recording.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) pages: BTreeMap<u32, PathBuf>,
    pub(super) stats: BTreeMap<u32, PathBuf>,
    /// The formats by system and event.
    pub(super) formats: BTreeMap<(String, String), PathBuf>,
    pub(super) header_page: Option<PathBuf>,
    pub(super) saved_cmdlines: Option<PathBuf>,
    pub(super) printk_formats: Option<PathBuf>,
    pub(super) kallsyms: Option<PathBuf>,
    pub(super) trace_clock: Option<PathBuf>,
    pub(super) uname: Option<PathBuf>,
    /// This is tracefs itself, or all of it.
    pub(super) is_live: bool,
}

/// Where pages are looked for.
const PAGES: [&str; 5] = ["", "per_cpu", "traces", "trace", "raw"];
/// Where descriptions are looked for.
const FORMATS: [&str; 2] = ["events", "formats"];

impl Found {
    /// Looks through the directory; what comes first stays.
    pub(super) fn look(directory: &Path) -> Result<Self, TraceError> {
        let mut found = Self::default();
        for base in [directory.to_path_buf(), directory.join("tracing")] {
            if !base.is_dir() {
                continue;
            }
            for folder in PAGES {
                found.look_for_pages(&base.join(folder))?;
            }
            for folder in FORMATS {
                found.look_for_formats(&base.join(folder))?;
            }
            let file = |name: &str| Some(base.join(name)).filter(|p| p.is_file());
            let take = |place: &mut Option<PathBuf>, name| *place = place.take().or_else(|| file(name));
            take(&mut found.saved_cmdlines, "saved_cmdlines");
            take(&mut found.printk_formats, "printk_formats");
            take(&mut found.kallsyms, "kallsyms");
            take(&mut found.trace_clock, "trace_clock");
            take(&mut found.uname, "uname");
            found.is_live |= file("tracing_on").is_some() && file("set_event").is_some();
        }
        Ok(found)
    }

    fn look_for_pages(&mut self, folder: &Path) -> Result<(), TraceError> {
        for (name, path) in entries(folder)? {
            let Some(cpu) = cpu_of(&name) else { continue };
            let (pages, stats) = (path.join("trace_pipe_raw"), path.join("stats"));
            if path.is_file() {
                self.pages.entry(cpu).or_insert(path);
            } else if pages.is_file() {
                self.pages.entry(cpu).or_insert(pages);
                if stats.is_file() {
                    self.stats.entry(cpu).or_insert(stats);
                }
            }
        }
        Ok(())
    }

    fn look_for_formats(&mut self, folder: &Path) -> Result<(), TraceError> {
        let header_page = Some(folder.join("header_page")).filter(|p| p.is_file());
        self.header_page = self.header_page.take().or(header_page);
        for (system, path) in entries(folder)? {
            if !path.is_dir() {
                continue;
            }
            for (event, path) in entries(&path)? {
                let format = path.join("format");
                if format.is_file() {
                    self.formats.entry((system.clone(), event)).or_insert(format);
                }
            }
        }
        Ok(())
    }
}

/// The names and paths in a folder; none if it is not there.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, TraceError> {
    let fail = |source| TraceError::Open { path: folder.to_path_buf(), source };
    let list = match std::fs::read_dir(folder) {
        Ok(list) => list,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(e) => return Err(fail(e)),
    };
    let mut all = Vec::new();
    for entry in list {
        let entry = entry.map_err(fail)?;
        if let Ok(name) = entry.file_name().into_string() {
            all.push((name, entry.path()));
        }
    }
    all.sort();
    Ok(all)
}

/// The CPU of a file's name: "cpu3", "cpu3.raw", "trace.dat.cpu3".
fn cpu_of(name: &str) -> Option<u32> {
    name.split('.').find_map(|part| part.strip_prefix("cpu")?.parse().ok()).filter(|cpu| *cpu < MAX_CPUS)
}
