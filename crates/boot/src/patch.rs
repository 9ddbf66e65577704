// SPDX-License-Identifier: GPL-2.0-only
//! The governors as a patch to a kernel tree, which stays as it is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use idlewise_model::{did_you_mean, near};

use crate::overlay::{self, Addition};
use crate::{BootError, files};

/// Where a kernel has its governors.
const GOVERNORS: &str = "drivers/cpuidle/governors";

/// What `idlewise boot overlay` would do to the tree at `folder`, as a patch for `git apply` and `patch -p1`: all governors in a folder
/// of their own; or one `governor` as a posting would add it, as a file beside the kernel's with a line in Kconfig and Makefile.
///
/// # Errors
/// [`BootError`] when it is no kernel tree, there is no such governor, or the tree has a file of its name.
pub fn patch(folder: &Path, governor: Option<&str>) -> Result<String, BootError> {
    overlay::check_tree(folder)?;
    let mut out = String::new();
    let (new, additions) = match governor {
        None => {
            let there = |(name, text)| (format!("{}/{name}", overlay::FOLDER), text);
            (overlay::contents().into_iter().map(there).collect(), overlay::additions())
        }
        Some(id) => {
            let source = source(&format!("{id}.c")).ok_or_else(|| unknown(id))?;
            let _ = writeln!(out, "Subject: [PATCH] cpuidle: governors: Add {id}\n\n{}\n---", about(source));
            alone(id, source)
        }
    };
    for addition in additions {
        let path = folder.join(addition.file);
        let text = fs::read_to_string(&path).map_err(BootError::io(&path))?;
        let changed = addition.added_to(text.clone(), &path)?;
        // Below two lines that name no file.
        let hunks = diffy::create_patch(&text, &changed).to_string();
        let hunks = hunks.splitn(3, '\n').nth(2).unwrap_or_default();
        let _ = write!(out, "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n{hunks}", addition.file);
    }
    for (name, text) in &new {
        let there = folder.join(name);
        if there.exists() {
            return Err(BootError::file(there, "is there already, so that no patch can add it"));
        }
        let _ = write!(
            out,
            "diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{} @@\n",
            text.lines().count()
        );
        for line in text.lines() {
            let _ = writeln!(out, "+{line}");
        }
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

/// The preface of a source, as text.
fn about(source: &str) -> String {
    let preface = source
        .split_once("/*\n")
        .and_then(|(_, rest)| rest.split_once(" */"))
        .map_or("", |(preface, _)| preface);
    let lines = preface.lines().map(|line| line.strip_prefix(" *").unwrap_or(line));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// One governor's files, and the lines that know of it.
fn alone(id: &str, text: &'static str) -> (BTreeMap<String, String>, Vec<Addition>) {
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
    let paragraphs = about(text);
    let idea = paragraphs.split("\n\n").find_map(|p| p.strip_prefix("The idea: ")).unwrap_or_default();
    let idea = idea.trim_end().replace('\n', "\n\t  ");
    let kconfig = Addition {
        file: overlay::KCONFIG,
        after: Some("if CPU_IDLE"),
        lines: format!("\nconfig {symbol}\n\tbool \"The idle governor {id}\"\n\thelp\n\t  The idea: {idea}")
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
