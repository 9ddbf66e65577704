// SPDX-License-Identifier: GPL-2.0-only
//! What compiler and linker say, as sentences for the owner of a governor: which header or name is missing, and where.

use std::fmt;
use std::fs;
use std::path::Path;

use idlewise_model::near;
use serde::{Deserialize, Serialize};

use crate::paths::{is_inside, text_of};
use crate::shim;

/// One reason why a governor does not compile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The file; empty where the linker does not tell.
    pub file: String,
    /// The line; 0 where it is not known.
    pub line: u32,
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

/// The step for which a compiler was called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Preprocess,
    Compile,
    Assemble,
    Link,
}

impl Step {
    /// The program whose messages it ends with.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Preprocess | Self::Compile => "the compiler",
            Self::Assemble => "the assembler",
            Self::Link => "the linker",
        }
    }
}

/// The last lines of a program's messages that are about itself; nothing where there are none. Those about a file may quote it.
pub(crate) fn own_words(step: Step, said: &str) -> Option<String> {
    let about_itself = |line: &&str| match step {
        Step::Preprocess | Step::Compile => {
            line.split_once(": ").is_some_and(|(name, _)| !name.contains(['/', ':', ' ']))
        }
        Step::Assemble => false,
        // It is given nothing but objects of the source.
        Step::Link => true,
    };
    let mut lines: Vec<&str> = said.lines().rev().filter(about_itself).take(5).collect();
    lines.reverse();
    (!lines.is_empty()).then(|| lines.join("\n  "))
}

/// Reads what gcc, clang, an assembler or a linker wrote. `source` is shown as `given`, a header of `shim` as `<linux/...>`.
pub(crate) fn problems(step: Step, said: &str, source: &Path, given: &str, shim: &Path) -> Vec<Problem> {
    let name = |file: &str| {
        let path = Path::new(file);
        if path == source {
            return given.to_owned();
        }
        let headers = shim.join("include");
        let header = path.strip_prefix(&headers).ok().filter(|_| is_inside(path, &headers));
        header.map_or_else(|| file.to_owned(), |header| format!("<{}>", header.display()))
    };
    let mut found: Vec<Problem> = Vec::new();
    let mut undefined = Undefined::default();
    for line in said.lines() {
        if let Some(problem) = (step == Step::Compile).then(|| undefined.take(line, source)).flatten() {
            found.extend(problem.map(|p| Problem { file: name(&p.file), ..p }));
            continue;
        }
        let problem = match step {
            Step::Assemble => assembler(line),
            Step::Preprocess | Step::Compile => compiler(line, &|tag| home(tag, source, given)),
            Step::Link => linker(line),
        };
        let Some(mut problem) = problem else { continue };
        problem.file = name(&problem.file);
        if !found.contains(&problem) {
            found.push(problem);
        }
    }
    undefined.leave_out_consequences(&mut found);
    found
}

/// Structs that are used and nowhere defined: mostly one misspelt name, of which the compiler says many things.
#[derive(Default)]
struct Undefined {
    tags: Vec<String>,
    /// Errors that are not listed, since another one says the same or causes them.
    left_out: usize,
}

impl Undefined {
    /// Whether `line` is an error about an undefined struct; and the problem, the first time.
    fn take(&mut self, line: &str, source: &Path) -> Option<Option<Problem>> {
        let (file, at, said) = error(line)?;
        let incomplete = ["undefined type", "incomplete type", "incomplete definition of type"];
        if !incomplete.iter().any(|words| said.contains(words)) {
            return None;
        }
        let tag = quoted(said).into_iter().find(|t| TAGS.iter().any(|kind| t.starts_with(kind)))?;
        if self.tags.contains(&tag) {
            self.left_out += 1;
            return Some(None);
        }
        let text = text_of(source).unwrap_or_default();
        let known = shim::tags(&text).into_iter().map(str::to_owned);
        let known: Vec<String> = known.chain(shim::all_tags().map(str::to_owned)).collect();
        let like = near(&tag, known.iter().map(String::as_str)).first().map(|&like| like.to_owned());
        let like_words = like.as_ref().map_or_else(String::new, |like| format!(" (did you mean `{like}`?)"));
        // The compiler says where the struct is needed; it is misspelt where it stands.
        let stands = text.lines().position(|line| mentions(line, &tag)).filter(|_| Path::new(file) == source);
        self.tags.push(tag.clone());
        Some(Some(Problem {
            file: file.to_owned(),
            line: stands.and_then(|at| u32::try_from(at + 1).ok()).unwrap_or(at),
            what: format!("neither the file nor idlewise's headers define `{tag}`{like_words}"),
            lacking: like.is_none(),
        }))
    }

    /// A pointer to such a struct fits nowhere.
    fn leave_out_consequences(self, found: &mut Vec<Problem>) {
        if self.tags.is_empty() {
            return;
        }
        let all = found.len();
        found.retain(|p| !p.what.contains("incompatible pointer type"));
        let left_out = self.left_out + (all - found.len());
        if left_out > 0 {
            let errors = if left_out == 1 { "error is" } else { "errors are" };
            let what = format!("{left_out} more {errors} left out that may follow from this");
            found.push(Problem { file: String::new(), line: 0, what, lacking: false });
        }
    }
}

/// How the names of structs and the like begin.
const TAGS: [&str; 3] = ["struct ", "union ", "enum "];

/// Whether `tag` stands in `line` as a whole.
fn mentions(line: &str, tag: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(tag).any(|(at, _)| !line.get(at + tag.len()..).unwrap_or("").starts_with(part))
}

/// What stands in quotation marks, without qualifiers.
fn quoted(text: &str) -> Vec<String> {
    let names = text.split(['\'', '`', '‘', '’']).skip(1).step_by(2);
    names.map(|name| name.trim_start_matches("const ").trim_start_matches("volatile ").to_owned()).collect()
}

/// Where the user has `tag`, such as `struct mine`: in the file or a header in its folder.
fn home(tag: &str, source: &Path, given: &str) -> Option<String> {
    let at = |path: &Path| shim::definition(&text_of(path)?, tag);
    if let Some(line) = at(source) {
        return Some(format!("{given}:{line}"));
    }
    let beside = fs::read_dir(source.parent()?).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut headers: Vec<_> = beside.filter(|path| path.extension().is_some_and(|e| e == "h")).collect();
    headers.sort();
    headers.iter().find_map(|path| Some(format!("{}:{}", path.display(), at(path)?)))
}

/// File, line and words of `file:line:column: error: words`.
fn error(text: &str) -> Option<(&str, u32, &str)> {
    let (place, said) = text.split_once(": error: ").or_else(|| text.split_once(": fatal error: "))?;
    let mut parts = place.rsplitn(3, ':');
    let (column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    column.parse::<u32>().ok()?;
    Some((file, line.parse().ok()?, said))
}

/// An error of the compiler. `home` finds where the user has a struct.
fn compiler(text: &str, home: &dyn Fn(&str) -> Option<String>) -> Option<Problem> {
    let (file, line, said) = error(text)?;
    let (what, lacking) = match missing_header(said) {
        Some(header) if is_quoted(header, Path::new(file), line) => (
            format!(
                "there is no \"{header}\" in the folder of the file, and idlewise has none: copy it there, or name the file in \
                 its kernel tree, where the header is"
            ),
            false,
        ),
        Some(header) => (format!("idlewise has no header <{header}>"), true),
        None => sentence(said, home),
    };
    Some(Problem { file: file.to_owned(), line, what, lacking })
}

/// The header that was not found.
fn missing_header(said: &str) -> Option<&str> {
    let quoted = said.split(['\'', '`', '‘', '’']).nth(1);
    said.strip_suffix(": No such file or directory")
        .or_else(|| quoted.filter(|_| said.ends_with("file not found")))
}

/// Whether `file` includes `header` in quotation marks on its `line`, from 1.
fn is_quoted(header: &str, file: &Path, line: u32) -> bool {
    let Some(text) = text_of(file) else { return false };
    let line = (line as usize).checked_sub(1).and_then(|at| text.lines().nth(at));
    line.is_some_and(|line| line.contains(&format!("\"{header}\"")))
}

/// A place that an assembler's error is about. Its words are left out: it may have read another file, and quotes what it does not know.
fn assembler(text: &str) -> Option<Problem> {
    let (place, _) = text.split_once(": Error: ")?;
    let (file, line) = place.rsplit_once(':')?;
    let what = "the assembler does not accept its assembler code".to_owned();
    Some(Problem { file: file.to_owned(), line: line.parse().ok()?, what, lacking: false })
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
fn sentence(said: &str, home: &dyn Fn(&str) -> Option<String>) -> (String, bool) {
    let quoted = said.split(['\'', '`', '‘', '’']).nth(1).unwrap_or("");
    let lacks =
        |what: &str| (format!("neither the file nor idlewise's headers have a {what} `{quoted}`"), true);
    if said.contains("implicit declaration of function") || said.contains("undeclared function") {
        return lacks("function");
    }
    if said.contains("unknown type name") {
        return lacks("type");
    }
    if said.contains("undeclared") {
        return lacks("name");
    }
    if let Some(said) = no_member(said, home) {
        return said;
    }
    (said.to_owned(), false)
}

/// A member that a struct has not: whether it is the shim's or the user's decides who can mend it.
fn no_member(said: &str, home: &dyn Fn(&str) -> Option<String>) -> Option<(String, bool)> {
    let (before, after) = said.split_once("no member named")?;
    // gcc says the struct first, and behind it what a type's name stands for; clang says it last.
    let (mut of, mut names) = (quoted(before), quoted(after).into_iter());
    let member = names.next()?;
    let mut like = None;
    if of.is_empty() {
        of.extend(names.next());
    } else if after.contains("did you mean") {
        like = names.next();
    }
    let tag = of.first()?;
    let like = like.map_or_else(String::new, |like| format!(" (did you mean `{like}`?)"));
    if of.iter().any(|tag| shim::defines(tag)) {
        return Some((format!("idlewise's `{tag}` has no `{member}`{like}"), true));
    }
    let at = of.iter().find_map(|tag| home(tag));
    let at = at.map_or_else(String::new, |at| format!(", which is defined at {at},"));
    Some((format!("`{tag}`{at} has no `{member}`{like}"), false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(said: &str) -> Vec<String> {
        let step = if said.contains("undefined reference") || said.contains("undefined symbol") {
            Step::Link
        } else {
            Step::Compile
        };
        let found = problems(step, said, Path::new("/abs/my.c"), "my.c", Path::new("/c/shim"));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn gcc_and_clang_say_the_same() {
        for (said, expected) in [
            (
                "/abs/my.c:3:10: fatal error: linux/foo.h: No such file or directory",
                "my.c:3: idlewise has no header <linux/foo.h>",
            ),
            (
                "/abs/my.c:3:10: fatal error: 'linux/foo.h' file not found",
                "my.c:3: idlewise has no header <linux/foo.h>",
            ),
            (
                "/abs/my.c:9:2: error: implicit declaration of function 'foo' [-Werror=implicit-function-declaration]",
                "my.c:9: neither the file nor idlewise's headers have a function `foo`",
            ),
            (
                "/abs/my.c:9:2: error: call to undeclared function 'foo'; ISO C99 and later do not support it",
                "my.c:9: neither the file nor idlewise's headers have a function `foo`",
            ),
            (
                "/abs/my.c:9:2: error: 'BAR' undeclared (first use in this function); did you mean 'BAZ'?",
                "my.c:9: neither the file nor idlewise's headers have a name `BAR`",
            ),
            (
                "/abs/my.c:9:2: error: use of undeclared identifier 'BAR'",
                "my.c:9: neither the file nor idlewise's headers have a name `BAR`",
            ),
            (
                "/abs/my.c:9:2: error: unknown type name 'bar_t'",
                "my.c:9: neither the file nor idlewise's headers have a type `bar_t`",
            ),
            (
                "/abs/my.c:9:2: error: 'struct cpuidle_device' has no member named 'x'",
                "my.c:9: idlewise's `struct cpuidle_device` has no `x`",
            ),
            (
                "/abs/my.c:9:2: error: no member named 'x' in 'struct cpuidle_device'",
                "my.c:9: idlewise's `struct cpuidle_device` has no `x`",
            ),
            (
                "/abs/my.c:9:2: error: 'struct mine' has no member named 'cuont'; did you mean 'count'?",
                "my.c:9: `struct mine` has no `cuont` (did you mean `count`?)",
            ),
            (
                "/abs/my.c:9:2: error: 'mine_t' {aka 'struct mine'} has no member named 'cuont'",
                "my.c:9: `mine_t` has no `cuont`",
            ),
            (
                "/abs/my.c:9:2: error: 'const struct cpuidle_state' has no member named 'latency'",
                "my.c:9: idlewise's `struct cpuidle_state` has no `latency`",
            ),
            (
                "/abs/my.c:9:2: error: no member named 'cuont' in 'struct mine'",
                "my.c:9: `struct mine` has no `cuont`",
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

    #[test]
    fn a_misspelt_struct_is_one_problem_and_a_quoted_header_is_the_users_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("my.c");
        let text = "#include \"mine.h\"\nint f(struct cpuidle_devcie *dev)\n{\n\treturn dev->cpu;\n}\n";
        fs::write(&file, text).unwrap();
        let at = file.display();
        let read = |said: &str| -> Vec<(String, bool)> {
            let found = problems(Step::Compile, said, &file, "my.c", Path::new("/c/shim"));
            found.iter().map(|p| (p.to_string(), p.lacking)).collect()
        };
        for said in [
            format!("{at}:1:10: fatal error: mine.h: No such file or directory"),
            format!("{at}:1:10: fatal error: 'mine.h' file not found"),
        ] {
            let [(said, lacking)] = read(&said).try_into().unwrap();
            assert!(said.starts_with("my.c:1: there is no \"mine.h\" in the folder") && !lacking, "{said}");
        }
        for said in [
            format!(
                "{at}:4:12: error: invalid use of undefined type ‘const struct cpuidle_devcie’\n\
                 {at}:4:20: error: invalid use of undefined type ‘struct cpuidle_devcie’\n\
                 {at}:5:2: error: passing argument 1 of ‘f’ from incompatible pointer type \
                 [-Werror=incompatible-pointer-types]"
            ),
            format!(
                "{at}:4:12: error: incomplete definition of type 'struct cpuidle_devcie'\n\
                 {at}:4:20: error: incomplete definition of type 'struct cpuidle_devcie'\n\
                 {at}:5:2: error: incompatible pointer types passing 'struct cpuidle_devcie *' to parameter"
            ),
        ] {
            let expected = [
                "my.c:2: neither the file nor idlewise's headers define `struct cpuidle_devcie` (did you mean `struct cpuidle_device`?)",
                "2 more errors are left out that may follow from this",
            ];
            assert_eq!(read(&said), expected.map(|e| (e.to_owned(), false)));
        }
        let unknown = format!("{at}:4:12: error: invalid use of undefined type 'struct zebra'");
        assert_eq!(
            read(&unknown),
            [("my.c:4: neither the file nor idlewise's headers define `struct zebra`".to_owned(), true)]
        );
    }
}
