// SPDX-License-Identifier: GPL-2.0-only
//! Do two source files of a crate need each other? Whoever reads one of them then has to read both, and neither can be
//! moved or tested alone.
//!
//! An arrow leads from a file to each file of its crate whose items it names, in a `use` or in a path. Re-exports are
//! followed to the file that has the item. A file that only re-exports an item does not need it: `mod x;` and `pub use x::Y;`
//! make no arrow. Code for tests does not count. Macros and paths inside attributes' texts are not seen.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use source::{Import, Source};

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Module(Vec<String>),
    Item(usize),
    Elsewhere,
}

/// The files of a crate.
struct Crate {
    names: Vec<String>,
    sources: Vec<Source>,
    /// Each module's file.
    modules: BTreeMap<Vec<String>, usize>,
}

impl Crate {
    /// Of files named from the crate's `src`, with their texts.
    fn of(files: &[(String, String)]) -> Self {
        let mut this = Self { names: Vec::new(), sources: Vec::new(), modules: BTreeMap::new() };
        let mut tests = BTreeSet::new();
        for (name, text) in files {
            let mut module: Vec<String> =
                name.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            if ["mod", "lib", "main"].contains(&module[module.len() - 1].as_str()) {
                module.pop();
            }
            let source = Source::read(text, &module);
            tests.extend(source.tests.iter().cloned());
            this.modules.insert(module, this.names.len());
            this.names.push(name.clone());
            this.sources.push(source);
        }
        for (i, source) in this.sources.iter().enumerate() {
            let places = source.imports.iter().map(|i| &i.module).chain(source.paths.iter().map(|(m, _)| m));
            for place in places {
                this.modules.entry(place.clone()).or_insert(i);
            }
        }
        this.modules.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        this
    }

    /// A path that stands in `module`, from the crate's root; `None` if it leads out of the crate.
    fn absolute(&self, module: &[String], path: &[String], depth: u32) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let mut base = match first.as_str() {
            "crate" => Vec::new(),
            "self" => module.to_vec(),
            "super" => module.split_last()?.1.to_vec(),
            name => {
                let child: Vec<String> = module.iter().cloned().chain([name.to_owned()]).collect();
                if self.modules.contains_key(&child) {
                    child
                } else {
                    let source = &self.sources[*self.modules.get(module)?];
                    let same = |i: &&Import| i.name == name && i.module == module && i.path != path;
                    let import = source.imports.iter().find(same)?;
                    if depth == 0 {
                        return None;
                    }
                    self.absolute(module, &import.path, depth - 1)?
                }
            }
        };
        let mut rest = rest;
        while let Some((word, after)) = rest.split_first().filter(|(word, _)| *word == "super") {
            assert_eq!(word, "super");
            base.pop()?;
            rest = after;
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// What a path from the crate's root leads to, through re-exports.
    fn resolve(&self, path: &[String], depth: u32) -> Target {
        let known = (0..=path.len()).rev().find(|n| self.modules.contains_key(&path[..*n]));
        let Some(n) = known else { return Target::Elsewhere };
        let (module, rest) = path.split_at(n);
        let Some((name, after)) = rest.split_first() else { return Target::Module(module.to_vec()) };
        let file = self.modules[module];
        let source = &self.sources[file];
        if source.defines.contains(name) || depth == 0 {
            return Target::Item(file);
        }
        let imports = || source.imports.iter().filter(|i| i.module == module);
        if let Some(import) = imports().find(|i| &i.name == name) {
            let Some(mut to) = self.absolute(module, &import.path, 8) else { return Target::Elsewhere };
            if to == path {
                return Target::Item(file);
            }
            to.extend(after.iter().cloned());
            return self.resolve(&to, depth - 1);
        }
        for import in imports().filter(|i| i.name == "*") {
            let Some(mut to) = self.absolute(module, &import.path, 8) else { continue };
            let Target::Module(inner) = self.resolve(&to, depth - 1) else { continue };
            let has = &self.sources[self.modules[&inner]];
            if has.defines.contains(name) || has.imports.iter().any(|i| i.public && &i.name == name) {
                to.extend(rest.iter().cloned());
                return self.resolve(&to, depth - 1);
            }
        }
        Target::Item(file)
    }

    /// From each file, the files that it needs, with a path that says why.
    fn arrows(&self) -> Vec<BTreeMap<usize, String>> {
        let mut all = Vec::new();
        for (file, source) in self.sources.iter().enumerate() {
            let mut to = BTreeMap::new();
            let mut add = |module: &[String], path: &[String], glob: bool| {
                let Some(absolute) = self.absolute(module, path, 8) else { return };
                let target = match self.resolve(&absolute, 8) {
                    Target::Item(target) => target,
                    Target::Module(module) if glob => self.modules[&module],
                    Target::Module(_) | Target::Elsewhere => return,
                };
                if target != file {
                    to.entry(target).or_insert_with(|| path.join("::"));
                }
            };
            if self.modules.values().all(|f| *f != file) {
                all.push(BTreeMap::new());
                continue;
            }
            for import in &source.imports {
                if !import.public || source.words.contains(&import.name) {
                    add(&import.module, &import.path, import.name == "*");
                }
            }
            for (module, path) in &source.paths {
                add(module, path, false);
            }
            all.push(to);
        }
        all
    }

    /// Groups of files that need each other, each with its arrows.
    fn circles(&self) -> Vec<(Vec<&str>, Vec<String>)> {
        let arrows = self.arrows();
        let reach: Vec<BTreeSet<usize>> = (0..arrows.len())
            .map(|from| {
                let mut seen = BTreeSet::new();
                let mut todo: Vec<usize> = arrows[from].keys().copied().collect();
                while let Some(next) = todo.pop() {
                    if seen.insert(next) {
                        todo.extend(arrows[next].keys());
                    }
                }
                seen
            })
            .collect();
        let mut found = Vec::new();
        let mut done = BTreeSet::new();
        for (a, beyond) in reach.iter().enumerate() {
            if !beyond.contains(&a) || !done.insert(a) {
                continue;
            }
            let group: BTreeSet<usize> = beyond.iter().copied().filter(|b| reach[*b].contains(&a)).collect();
            done.extend(&group);
            let mut why = Vec::new();
            for from in &group {
                for (to, path) in arrows[*from].iter().filter(|(to, _)| group.contains(to)) {
                    why.push(format!("{} needs {}: {path}", self.names[*from], self.names[*to]));
                }
            }
            found.push((group.iter().map(|f| self.names[*f].as_str()).collect(), why));
        }
        found
    }
}

/// The source files below `folder`, named from there.
fn read(folder: &Path, prefix: &str, out: &mut Vec<(String, String)>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            read(&path, &format!("{name}/"), out);
        } else if name.ends_with(".rs") {
            out.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn no_two_files_need_each_other() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut rooms: Vec<_> = fs::read_dir(&crates).unwrap().map(|e| e.unwrap().path()).collect();
    rooms.sort();
    let mut wrong = Vec::new();
    let mut arrows = 0;
    for room in rooms {
        let name = room.file_name().unwrap().to_string_lossy().into_owned();
        let mut files = Vec::new();
        read(&room.join("src"), "", &mut files);
        let this = Crate::of(&files);
        arrows += this.arrows().iter().map(BTreeMap::len).sum::<usize>();
        for (group, why) in this.circles() {
            wrong.push(format!("crates/{name}: {}\n  {}", group.join(" "), why.join("\n  ")));
        }
    }
    assert!(arrows > 500, "only {arrows} arrows were found");
    assert!(
        wrong.is_empty(),
        "files that need each other; what both need goes into a file of its own:\n{}",
        wrong.join("\n")
    );
}

/// The circles of files that are written here: `name: text` each.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<(String, String)> =
        files.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned())).collect();
    Crate::of(&files).circles().into_iter().map(|(group, _)| group.join(" ")).collect()
}

#[test]
fn a_circle_is_seen_however_the_files_name_each_other() {
    let lib = ("lib.rs", "mod a; mod b; pub use a::A; pub use b::*;");
    for (a, b) in [
        ("use crate::b::B; struct A;", "use crate::a::A; pub struct B;"),
        ("use crate::{x, b::{self, y}}; fn f() { b::g() } struct A;", "use super::a; fn g() { a::f() }"),
        ("struct A(crate::b::B);", "pub struct B(super::a::A);"),
        ("struct A(crate::B);", "pub struct B(crate::A);"),
        ("use crate::b::*; struct A;", "fn f() -> [crate::A; 2] { \"{\" }"),
        (
            "use crate::b::B as C; struct A;",
            "/* ' */ const C: char = '\"'; use crate::A; struct B<'a>(&'a A);",
        ),
    ] {
        assert_eq!(circles_of(&[lib, ("a.rs", a), ("b.rs", b)]), ["a.rs b.rs"], "{a} | {b}");
    }
    let three = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::f;"),
        ("b.rs", "use crate::c; fn f() { c::g() }"),
        ("c.rs", "fn g() { crate::a::h() }"),
    ];
    assert_eq!(circles_of(&three), ["a.rs b.rs c.rs"]);
    let parent = [
        ("lib.rs", "mod a;"),
        ("a.rs", "mod b; pub struct A; fn f() { b::g() }"),
        ("a/b.rs", "use super::A; pub fn g() {}"),
    ];
    assert_eq!(circles_of(&parent), ["a.rs a/b.rs"]);
    let used =
        [("lib.rs", "mod a; pub use a::A; fn f(_: A) {} struct R;"), ("a.rs", "use crate::R; struct A;")];
    assert_eq!(circles_of(&used), ["lib.rs a.rs"]);
}

#[test]
fn files_that_only_pass_a_name_on_make_no_circle() {
    for files in [
        vec![
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a.rs", "use crate::B; pub struct A;"),
            ("b.rs", "pub struct B; // crate::a::A\n const T: &str = r#\"crate::a::A\"#;"),
        ],
        vec![("lib.rs", "mod a; pub use a::a; struct R;"), ("a.rs", "use crate::R; pub fn a(_: R) {}")],
        vec![
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b; fn f() { b::g() }"),
            ("b.rs", "fn g() {} #[cfg(test)] mod tests { use crate::a; fn t() { a::f() } }"),
        ],
        vec![
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b; mod c; pub(crate) use b::B; pub struct A;"),
            ("a/b.rs", "use super::A; use super::c::f; pub struct B;"),
            ("a/c.rs", "use super::A; use std::fmt; fn f() {}"),
        ],
        vec![
            ("lib.rs", "mod a; #[cfg(test)] mod tests; fn f() { a::g() }"),
            ("a.rs", "fn g() {}"),
            ("tests.rs", "use crate::a::g; use crate::f;"),
        ],
    ] {
        assert_eq!(circles_of(&files), [] as [&str; 0], "{files:?}");
    }
}
