// SPDX-License-Identifier: GPL-2.0-only
//! Is what is embedded what `web/src` builds, and does Rust know its charts?

use std::fs;
use std::path::Path;
use std::process::Command;

use idlewise_chart::{CHARTS, licenses};
use idlewise_checkout::root;
use rquickjs::{Context, Function, Object, Runtime};

fn quiet(command: &mut Command) -> bool {
    command.output().is_ok_and(|o| o.status.success())
}

/// Whether Node is what Vite asks for: 20.19 or newer.
fn node_is_new() -> bool {
    let Ok(output) = Command::new("node").arg("--version").output() else { return false };
    let text = String::from_utf8_lossy(&output.stdout).trim().trim_start_matches('v').to_owned();
    let mut numbers = text.split('.').map(|n| n.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(20), Some(19))
}

#[test]
fn the_committed_bundle_is_what_its_sources_build() {
    let web = root().join("web");
    if !quiet(Command::new("npm").arg("--version")) || !node_is_new() {
        eprintln!("skipped: no npm with Node 20.19 or newer, so the bundle is not built anew");
        return;
    }
    // What is installed is that of this lock file, or of an older one.
    let (lock, installed) =
        (fs::read(web.join("package-lock.json")).unwrap(), web.join("node_modules/.lock"));
    if fs::read(&installed).ok().as_ref() != Some(&lock) {
        if !quiet(Command::new("npm").args(["ci", "--ignore-scripts"]).current_dir(&web)) {
            eprintln!("skipped: npm ci fails (no network?), so the bundle is not built anew");
            return;
        }
        fs::write(&installed, &lock).unwrap();
    }
    let out = tempfile::tempdir().unwrap();
    let build = Command::new("npm")
        .args(["run", "build"])
        .current_dir(&web)
        .env("IDLEWISE_WEB_OUT", out.path())
        .output()
        .unwrap();
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
    let mut compared = 0;
    same(out.path(), &web.join("dist"), &mut compared);
    assert!(compared >= 3, "{compared} files");
}

#[test]
fn the_page_has_a_place_for_every_chart() {
    let page = fs::read_to_string(root().join("web/src/page/page.ts")).unwrap();
    let figures = page.split_once("const FIGURES").unwrap().1.split_once("\n];").unwrap().0;
    // The comparison is above the figures, the timeline has a form of its own.
    let placed = |c: &&idlewise_chart::Chart| !["measures", "timeline"].contains(&c.name);
    for chart in CHARTS.iter().filter(placed) {
        assert!(figures.contains(&format!("'{}']", chart.name)), "{} is nowhere on the page", chart.name);
    }
}

/// Both folders hold the same files with the same bytes.
fn same(fresh: &Path, committed: &Path, compared: &mut usize) {
    let names = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(fresh), names(committed));
    for name in names(fresh) {
        let (a, b) = (fresh.join(&name), committed.join(&name));
        if a.is_dir() {
            same(&a, &b, compared);
        } else {
            let what = "differs from what web/src builds; npm run build in web/ writes it";
            assert!(fs::read(&a).unwrap() == fs::read(&b).unwrap(), "web/dist/{} {what}", name.display());
            *compared += 1;
        }
    }
}

#[test]
fn rust_lists_the_charts_of_the_script() {
    let script = fs::read_to_string(root().join("web/dist/idlewise.js")).unwrap();
    let made = std::thread::Builder::new().stack_size(64 << 20).spawn(move || {
        let runtime = Runtime::new().unwrap();
        runtime.set_max_stack_size(48 << 20);
        Context::full(&runtime).unwrap().with(|context| {
            context.eval::<(), _>("globalThis.setInterval = globalThis.setTimeout = globalThis.clearInterval = globalThis.clearTimeout = () => 0; globalThis.structuredClone = (v) => v").unwrap();
            context.eval::<(), _>(script).unwrap();
            let idlewise: Object = context.globals().get("idlewise").unwrap();
            idlewise.get::<_, Function>("list").unwrap().call::<_, String>(()).unwrap()
        })
    });
    let list: serde_json::Value = serde_json::from_str(&made.unwrap().join().unwrap()).unwrap();
    let ours: Vec<_> = CHARTS
        .iter()
        .map(|c| (c.name.to_owned(), c.title.to_owned(), serde_json::json!([c.table])))
        .collect();
    let text = |v: &serde_json::Value| v.as_str().unwrap().to_owned();
    let its = list.as_array().unwrap().iter();
    let its: Vec<_> = its.map(|c| (text(&c["name"]), text(&c["title"]), c["tables"].clone())).collect();
    assert_eq!(ours, its);
}

#[test]
fn licences_of_libraries_are_kept() {
    let text = licenses();
    for name in ["vega ", "vega-lite ", "d3-scale ", "University of Washington"] {
        assert!(text.contains(name), "{name}");
    }
}
