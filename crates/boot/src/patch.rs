// SPDX-License-Identifier: GPL-2.0-only
//! The governors as a patch to a kernel tree, which stays as it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use idlewise_files::unified_diff;
use idlewise_model::{did_you_mean, near};

use crate::overlay::{self, Addition};
use crate::{BootError, files};

/// Where a kernel has its governors.
const GOVERNORS: &str = "drivers/cpuidle/governors";

/// What `idlewise boot overlay` would do to the tree at `folder`, as a patch for `git apply` and `patch -p1`: all governors in a folder
/// of their own; or one `governor` as a posting would add it, as a file next to the kernel's with a line in Makefile and some in Kconfig.
///
/// # Errors
/// [`BootError`] when it is no kernel tree, there is no such governor, or the tree has a file of its name.
pub fn patch(folder: &Path, governor: Option<&str>) -> Result<String, BootError> {
    overlay::check_tree(folder)?;
    let (mut out, new, additions) = match governor {
        None => {
            let there = |(name, text)| (format!("{}/{name}", overlay::FOLDER), text);
            (String::new(), overlay::contents().into_iter().map(there).collect(), overlay::additions())
        }
        Some(id) => {
            let source = source(&format!("{id}.c")).ok_or_else(|| unknown(id))?;
            let preface = preface(source);
            let (new, additions) = alone(id, source, &preface);
            (format!("Subject: [PATCH] cpuidle: governors: Add {id}\n\n{preface}\n---\n"), new, additions)
        }
    };
    for addition in additions {
        let path = folder.join(addition.file);
        let text = fs::read_to_string(&path).map_err(BootError::io(&path))?;
        let changed = addition.added_to(text.clone(), &path)?;
        out += &unified_diff(addition.file, Some(&text), &changed);
    }
    for (name, text) in &new {
        let there = folder.join(name);
        if there.exists() {
            return Err(BootError::file(there, "is there already, so that no patch can add it"));
        }
        out += &unified_diff(name, None, text);
    }
    Ok(out)
}

fn source(name: &str) -> Option<&'static str> {
    files::GOVERNORS.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

fn unknown(id: &str) -> BootError {
    let ids: Vec<&str> = files::GOVERNORS.iter().filter_map(|(name, _)| name.strip_suffix(".c")).collect();
    let hint = did_you_mean(&near(id, ids.iter().copied()), &format!("there are: {}", ids.join(", ")));
    BootError::Governor { given: id.to_owned(), why: format!("there is no such governor{hint}") }
}

/// The preface of one of our sources, as text.
fn preface(source: &str) -> String {
    let inside = source.split_once("/*\n").and_then(|(_, rest)| Some(rest.split_once(" */")?.0));
    let Some(inside) = inside else { unreachable!("every governor of ours has a preface") };
    let lines = inside.lines().map(|line| line.strip_prefix(" *").unwrap_or(line));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// One governor's files, and the lines that know of it.
fn alone(id: &str, text: &'static str, preface: &str) -> (BTreeMap<String, String>, Vec<Addition>) {
    let name = id.replace('.', "_");
    let mut new = BTreeMap::from([(format!("{GOVERNORS}/{name}.c"), text.to_owned())]);
    let mut open = vec![text];
    while let Some(text) = open.pop() {
        let headers = text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
        for header in headers {
            if let Some(text) = source(header)
                && new.insert(format!("{GOVERNORS}/{header}"), text.to_owned()).is_none()
            {
                open.push(text);
            }
        }
    }
    let symbol = format!("CPU_IDLE_GOV_{}", name.replace('-', "_").to_uppercase());
    let Some(idea) = preface.split("\n\n").find(|paragraph| paragraph.starts_with("The idea: ")) else {
        unreachable!("every preface of ours tells the idea")
    };
    let idea = idea.trim_end().replace('\n', "\n\t  ");
    let kconfig = Addition {
        file: overlay::KCONFIG,
        after: Some("if CPU_IDLE"),
        lines: format!("\nconfig {symbol}\n\tbool \"The idle governor {id}\"\n\thelp\n\t  {idea}")
            .split('\n')
            .map(str::to_owned)
            .collect(),
    };
    let makefile = Addition {
        file: overlay::MAKEFILE,
        after: None,
        lines: vec![format!("obj-$(CONFIG_{symbol}) += {name}.o")],
    };
    (new, vec![kconfig, makefile])
}
