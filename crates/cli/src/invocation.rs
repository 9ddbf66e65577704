// SPDX-License-Identifier: GPL-2.0-only
//! How the command was called.

use idlewise_host::caller;

/// The command as a shell reads it.
pub(crate) fn command_text() -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    let quoted = |word: &String| match shlex::try_quote(word) {
        Ok(quoted) if word.is_empty() || !word.chars().all(is_plain) => quoted.into_owned(),
        _ => word.clone(),
    };
    command_line().iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// The command as it was given, the program by its name alone.
pub(crate) fn command_line() -> Vec<String> {
    let given = caller::words()
        .unwrap_or_else(|| std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect());
    std::iter::once("idlewise".to_owned()).chain(given).collect()
}
