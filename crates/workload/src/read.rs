// SPDX-License-Identifier: GPL-2.0-only
//! From texts to a [`Workload`]: each part of the file has a module, all go through one [`Reader`].

mod check;
mod distribution;
mod events;
mod extension;
mod fields;
mod global;
mod keys;
mod names;
mod reader;
mod tasks;

use crate::json::{Member, parse};
use crate::{Fault, Workload, WorkloadError};
use names::Names;
use reader::Reader;

/// What may stand outermost.
const TOP: [&str; 4] = ["tasks", "global", "resources", "idlewise"];

impl Workload {
    /// The workload of one text. `file` names it in messages; the workload is called as that without folders and
    /// ending.
    ///
    /// # Errors
    /// [`WorkloadError::At`] with file, line, column, and the path of keys; [`WorkloadError::Lacks`] without tasks.
    pub fn from_text(file: &str, text: &str) -> Result<Self, WorkloadError> {
        Self::from_texts(&[(file, text)])
    }

    /// The workload that several texts make together, as rt-app's `merge.py` puts them together: tasks one after the
    /// other; of `global` settings the last holds. It is called as the first one.
    ///
    /// # Errors
    /// As [`from_text`](Self::from_text).
    pub fn from_texts(files: &[(&str, &str)]) -> Result<Self, WorkloadError> {
        let mut r = Reader::new(files);
        let mut parts: [Vec<Member>; 4] = Default::default();
        for (n, (_, text)) in files.iter().enumerate() {
            let top = parse(n, text).map_err(|(at, what, hint)| r.error(at, Fault::Syntax, what, hint))?;
            for member in top {
                if let Some(i) = TOP.iter().position(|t| *t == member.key) {
                    parts[i].extend(r.object(&member)?.iter().cloned());
                } else if !member.key.starts_with('_') {
                    return Err(r.unknown_key(member.at, &member.key, &TOP));
                }
            }
        }
        let [tasks, global, resources, extension] = parts;
        if tasks.iter().all(|t| t.key.starts_with('_')) {
            return Err(WorkloadError::Lacks {
                files: files.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
                what: "no tasks".into(),
                hint: "a workload needs `\"tasks\": { \"name\": { \"run\": 1000, \"sleep\": 9000 } }`".into(),
            });
        }
        if !resources.is_empty() {
            r.note("`resources` is skipped, as by rt-app: mutexes and queues exist once an event names them");
        }
        let mut names = Names::of_tasks(&tasks);
        let extension = r.inside("idlewise", |r| extension::read(r, &mut names, &extension))?;
        let (global, default_policy) = r.inside("global", |r| global::read(r, &global))?;
        let tasks = r.inside("tasks", |r| tasks::read(r, &mut names, &tasks, default_policy))?;
        let first = files.first().map_or("", |(name, _)| name);
        let base = first.rsplit('/').next().unwrap_or(first);
        Ok(Self {
            name: base.strip_suffix(".json").unwrap_or(base).to_string(),
            about: extension.about,
            tasks,
            resources: names.resources,
            devices: extension.devices,
            frames: extension.frames,
            sources: extension.sources,
            global,
            notes: r.notes(),
        })
    }
}
