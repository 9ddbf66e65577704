// SPDX-License-Identifier: GPL-2.0-only
use clap::Command;

/// A command that a user may ask for, with its name in full.
pub(crate) struct Described {
    /// `idlewise boot run`
    pub(crate) name: String,
    pub(crate) command: Command,
}

impl Described {
    /// `idlewise-boot-run`
    pub(crate) fn page(&self) -> String {
        self.name.replace(' ', "-")
    }

    pub(crate) fn about(&self) -> String {
        let about = self.command.get_about().map(ToString::to_string).unwrap_or_default();
        about.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What it does, all of it, as sentences.
    pub(crate) fn description(&self) -> String {
        match self.command.get_long_about() {
            Some(long) => sentences(&long.to_string()),
            None => sentences(&self.about()),
        }
    }

    /// How it is called, a line for each way.
    pub(crate) fn usage(&self) -> Vec<String> {
        let text = self.command.clone().render_usage().to_string();
        let ways = text.trim_start_matches("Usage:").lines().map(str::trim).filter(|line| !line.is_empty());
        ways.map(str::to_owned).collect()
    }

    pub(crate) fn after_help(&self) -> String {
        self.command.get_after_help().map(ToString::to_string).unwrap_or_default()
    }
}

/// Paragraphs, the first of which has no full stop, as one.
pub(crate) fn sentences(text: &str) -> String {
    let ended = |p: &str| {
        let p = p.split_whitespace().collect::<Vec<_>>().join(" ");
        if p.ends_with(['.', ']', '?']) { p } else { p + "." }
    };
    text.split("\n\n").filter(|p| !p.trim().is_empty()).map(ended).collect::<Vec<_>>().join(" ")
}

/// A sentence that goes on after a colon or a name.
pub(crate) fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    if chars.clone().next().is_some_and(char::is_uppercase) {
        return text.to_owned();
    }
    first.to_lowercase().chain(chars).collect()
}
