// SPDX-License-Identifier: GPL-2.0-only
//! What compiler and linker say, as sentences for the owner of a governor: which header or name is missing, and where.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// One reason why a governor does not compile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The file; empty where the linker does not tell.
    pub file: String,
    /// The line; 0 where it is not known.
    pub line: u32,
    /// What is wrong.
    pub what: String,
    /// The shim lacks something, which can be given to it.
    pub lacking: bool,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file.as_str(), self.line) {
            ("", _) => write!(f, "{}", self.what),
            (file, 0) => write!(f, "{file}: {}", self.what),
            (file, line) => write!(f, "{file}:{line}: {}", self.what),
        }
    }
}

/// Reads what gcc, clang or a linker wrote. `source` is shown as `given`, a header of `shim` as `<linux/...>`.
pub(crate) fn problems(said: &str, source: &Path, given: &str, shim: &Path) -> Vec<Problem> {
    let name = |file: &str| {
        let path = Path::new(file);
        if path == source {
            return given.to_owned();
        }
        let inside = path.strip_prefix(shim.join("include"));
        inside.map_or_else(|_| file.to_owned(), |header| format!("<{}>", header.display()))
    };
    let mut found: Vec<Problem> = Vec::new();
    for line in said.lines() {
        let Some(mut problem) = compiler(line).or_else(|| linker(line)) else { continue };
        problem.file = name(&problem.file);
        if !found.contains(&problem) {
            found.push(problem);
        }
    }
    found
}

/// `file:line:column: error: words`.
fn compiler(text: &str) -> Option<Problem> {
    let (place, said) = text.split_once(": error: ").or_else(|| text.split_once(": fatal error: "))?;
    let mut parts = place.rsplitn(3, ':');
    let (column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    column.parse::<u32>().ok()?;
    let (what, lacking) = sentence(said);
    Some(Problem { file: file.to_owned(), line: line.parse().ok()?, what, lacking })
}

fn linker(text: &str) -> Option<Problem> {
    let (before, name) =
        text.split_once("undefined reference to ").or_else(|| text.split_once("undefined symbol: "))?;
    let name = name.trim_matches(['`', '\'', '"', ' ']);
    let place = before.rsplit("ld: ").next().unwrap_or("").trim_end_matches([' ', ':']);
    let (file, line) = match place.rsplit_once(':') {
        Some((file, line)) if line.bytes().all(|b| b.is_ascii_digit()) => (file, line.parse().unwrap_or(0)),
        _ => ("", 0),
    };
    let what = format!("`{name}` is declared but nowhere defined");
    Some(Problem { file: file.to_owned(), line, what, lacking: true })
}

/// The compiler's words in ours, and whether it is the shim that lacks something.
fn sentence(said: &str) -> (String, bool) {
    let quoted = said.split(['\'', '`', '‘', '’']).nth(1).unwrap_or("");
    let header = said
        .strip_suffix(": No such file or directory")
        .or_else(|| said.ends_with("file not found").then_some(quoted));
    if let Some(header) = header {
        return (format!("the shim has no header <{header}>"), true);
    }
    let lacks = |what: &str| (format!("neither the file nor the shim has a {what} `{quoted}`"), true);
    if said.contains("implicit declaration of function") || said.contains("undeclared function") {
        return lacks("function");
    }
    if said.contains("unknown type name") {
        return lacks("type");
    }
    if said.contains("undeclared") {
        return lacks("name");
    }
    if said.contains("no member named") {
        let names: Vec<&str> = said.split(['\'', '`', '‘', '’']).skip(1).step_by(2).collect();
        let named = said.starts_with("no member named");
        if let (Some(first), Some(second)) = (names.first(), names.get(1)) {
            let (member, of) = if named { (first, second) } else { (second, first) };
            return (format!("the shim's `{}` has no `{member}`", of.trim_start_matches("const ")), true);
        }
    }
    (said.to_owned(), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(said: &str) -> Vec<String> {
        let found = problems(said, Path::new("/abs/my.c"), "my.c", Path::new("/c/shim"));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn gcc_and_clang_say_the_same() {
        for (said, expected) in [
            (
                "/abs/my.c:3:10: fatal error: linux/foo.h: No such file or directory",
                "my.c:3: the shim has no header <linux/foo.h>",
            ),
            (
                "/abs/my.c:3:10: fatal error: 'linux/foo.h' file not found",
                "my.c:3: the shim has no header <linux/foo.h>",
            ),
            (
                "/abs/my.c:9:2: error: implicit declaration of function 'foo' [-Werror=implicit-function-declaration]",
                "my.c:9: neither the file nor the shim has a function `foo`",
            ),
            (
                "/abs/my.c:9:2: error: call to undeclared function 'foo'; ISO C99 and later do not support it",
                "my.c:9: neither the file nor the shim has a function `foo`",
            ),
            (
                "/abs/my.c:9:2: error: 'BAR' undeclared (first use in this function); did you mean 'BAZ'?",
                "my.c:9: neither the file nor the shim has a name `BAR`",
            ),
            (
                "/abs/my.c:9:2: error: use of undeclared identifier 'BAR'",
                "my.c:9: neither the file nor the shim has a name `BAR`",
            ),
            (
                "/abs/my.c:9:2: error: unknown type name 'bar_t'",
                "my.c:9: neither the file nor the shim has a type `bar_t`",
            ),
            (
                "/abs/my.c:9:2: error: 'struct cpuidle_device' has no member named 'x'",
                "my.c:9: the shim's `struct cpuidle_device` has no `x`",
            ),
            (
                "/abs/my.c:9:2: error: no member named 'x' in 'struct cpuidle_device'",
                "my.c:9: the shim's `struct cpuidle_device` has no `x`",
            ),
            ("/abs/my.c:9:2: error: expected ';' before 'return'", "my.c:9: expected ';' before 'return'"),
            ("/c/shim/include/linux/x.h:2:1: error: expected ';'", "<linux/x.h>:2: expected ';'"),
            (
                "/usr/bin/ld: /abs/my.c:12: undefined reference to `foo'",
                "my.c:12: `foo` is declared but nowhere defined",
            ),
            ("ld.lld: error: undefined symbol: foo", "`foo` is declared but nowhere defined"),
        ] {
            assert_eq!(read(said), [expected], "{said}");
        }
        assert!(read("/abs/my.c:9:2: warning: unused\n   9 | int error: x\nmake: done").is_empty());
    }
}
