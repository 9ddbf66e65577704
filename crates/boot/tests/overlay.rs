// SPDX-License-Identifier: GPL-2.0-only
//! Do the governors get into a kernel tree and out again, and compile there?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use idlewise_boot::{
    Build, Configuration, KernelTree, LabFolder, UserGovernor, Watch, install, patch, remove,
};
use idlewise_checkout::{kernels_to_compile_in, some_of};

const KCONFIG: &str =
    "menu \"CPU Idle\"\n\nconfig CPU_IDLE\n\tbool \"x\"\n\nif CPU_IDLE\n\nconfig OTHER\n\tbool\n\nendif\n";
const MAKEFILE: &str = "obj-$(CONFIG_CPU_IDLE_GOV_MENU) += menu.o\n";

struct Nobody;

impl Watch for Nobody {
    fn doing(&self, _what: &str) {}

    fn stopped(&self) -> bool {
        false
    }
}

fn small_tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir_all(tree.path().join("drivers/cpuidle/governors")).unwrap();
    fs::write(tree.path().join("drivers/cpuidle/Kconfig"), KCONFIG).unwrap();
    fs::write(tree.path().join("drivers/cpuidle/governors/Makefile"), MAKEFILE).unwrap();
    tree
}

fn read(tree: &Path, name: &str) -> String {
    fs::read_to_string(tree.join("drivers/cpuidle").join(name)).unwrap()
}

#[test]
fn every_governor_goes_in_unchanged_under_a_name_that_the_kernel_can_use() {
    let tree = small_tree();
    install(tree.path()).unwrap();
    let governors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../governors");
    let mut count = 0;
    for entry in fs::read_dir(governors).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.file_name().unwrap().to_str().unwrap().strip_suffix(".c") else { continue };
        let there = format!("governors/idlewise/iw-{}.c", name.replace('.', "_"));
        assert_eq!(read(tree.path(), &there), fs::read_to_string(&path).unwrap(), "{there}");
        let line = format!("iw-governors += iw-{}\n", name.replace('.', "_"));
        assert!(read(tree.path(), "governors/idlewise/governors.mk").contains(&line), "{line}");
        count += 1;
    }
    assert_eq!(count, idlewise_boot::governor_count());
}

#[test]
fn existing_files_get_nothing_but_lines_and_lose_them_again() {
    let tree = small_tree();
    install(tree.path()).unwrap();
    let kconfig = read(tree.path(), "Kconfig");
    assert!(
        kconfig
            .contains("if CPU_IDLE\nsource \"drivers/cpuidle/governors/idlewise/Kconfig\"\n\nconfig OTHER"),
        "{kconfig}"
    );
    let makefile = read(tree.path(), "governors/Makefile");
    let added = makefile.strip_prefix(MAKEFILE).unwrap();
    assert_eq!(added.lines().count(), 2, "{added}");
    remove(tree.path()).unwrap();
    assert_eq!(read(tree.path(), "Kconfig"), KCONFIG);
    assert_eq!(read(tree.path(), "governors/Makefile"), MAKEFILE);
    assert!(!tree.path().join("drivers/cpuidle/governors/idlewise").exists());
}

fn git_apply(tree: &Path, patch: &str) {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), patch).unwrap();
    let applied = Command::new("git").arg("-C").arg(tree).arg("apply").arg(file.path()).output().unwrap();
    assert!(applied.status.success(), "{}\n{patch}", String::from_utf8_lossy(&applied.stderr));
}

#[test]
fn the_patch_of_all_does_what_the_overlay_does_and_leaves_the_tree_as_it_is() {
    let (tree, patched) = (small_tree(), small_tree());
    let text = patch(tree.path(), None).unwrap();
    assert_eq!(read(tree.path(), "Kconfig"), KCONFIG);
    assert!(!tree.path().join("drivers/cpuidle/governors/idlewise").exists());
    git_apply(patched.path(), &text);
    assert_eq!(install(patched.path()).unwrap(), Vec::<PathBuf>::new(), "nothing is left to do");
    let why = patch(patched.path(), None).unwrap_err().to_string();
    assert!(why.contains("is there already"), "{why}");
}

#[test]
fn the_patch_of_one_governor_has_its_files_headers_and_lines() {
    let tree = small_tree();
    for (id, name, headers) in
        [("eco", "eco", &["governor.h"][..]), ("teo-6.1", "teo-6_1", &["governor.h", "teo-bins.h"])]
    {
        let text = patch(tree.path(), Some(id)).unwrap();
        assert!(text.starts_with(&format!("Subject: [PATCH] cpuidle: governors: Add {id}\n\n")), "{text}");
        let patched = small_tree();
        git_apply(patched.path(), &text);
        let governors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../governors");
        let ours = |name: &str| fs::read_to_string(governors.join(name)).unwrap();
        assert_eq!(read(patched.path(), &format!("governors/{name}.c")), ours(&format!("{id}.c")));
        for header in headers {
            assert_eq!(read(patched.path(), &format!("governors/{header}")), ours(header));
        }
        let symbol = format!("CPU_IDLE_GOV_{}", name.replace('-', "_").to_uppercase());
        let line = format!("obj-$(CONFIG_{symbol}) += {name}.o\n");
        assert_eq!(read(patched.path(), "governors/Makefile"), format!("{MAKEFILE}{line}"));
        let kconfig = read(patched.path(), "Kconfig");
        assert!(kconfig.contains(&format!("if CPU_IDLE\n\nconfig {symbol}\n\tbool ")), "{kconfig}");
        assert!(kconfig.ends_with("\n\nconfig OTHER\n\tbool\n\nendif\n"), "{kconfig}");
    }
    fs::write(tree.path().join("drivers/cpuidle/governors/menu.c"), "the kernel's").unwrap();
    let why = patch(tree.path(), Some("menu")).unwrap_err().to_string();
    assert!(why.contains("governors/menu.c: is there already"), "{why}");
    let why = patch(tree.path(), Some("ecco")).unwrap_err().to_string();
    assert!(why.contains("no such governor (did you mean `eco`?)"), "{why}");
}

#[test]
fn a_second_time_changes_nothing_and_an_old_overlay_is_brought_up_to_date() {
    let tree = small_tree();
    assert!(!install(tree.path()).unwrap().is_empty());
    assert_eq!(install(tree.path()).unwrap(), Vec::<std::path::PathBuf>::new());
    let ours = tree.path().join("drivers/cpuidle/governors/idlewise");
    fs::write(ours.join("iw-gone.c"), "old").unwrap();
    fs::write(ours.join("record.c"), "old").unwrap();
    fs::write(ours.join("record.o"), "of a build").unwrap();
    let changed = install(tree.path()).unwrap();
    assert_eq!(changed, [ours.join("iw-gone.c"), ours.join("record.c")]);
    assert!(!ours.join("iw-gone.c").exists() && ours.join("record.o").exists());
}

#[test]
fn what_is_no_kernel_tree_is_told_by_the_file_that_is_missing() {
    let tree = small_tree();
    fs::remove_file(tree.path().join("drivers/cpuidle/Kconfig")).unwrap();
    let why = install(tree.path()).unwrap_err().to_string();
    assert!(why.contains("drivers/cpuidle/Kconfig was expected"), "{why}");
}

#[test]
fn a_tree_that_is_too_old_or_was_built_in_place_is_refused() {
    let tree = small_tree();
    fs::write(tree.path().join("Makefile"), "VERSION = 5\nPATCHLEVEL = 15\n").unwrap();
    let why = install(tree.path()).unwrap_err().to_string();
    assert!(why.contains("Linux 5.15; the overlay needs 6.1 or newer"), "{why}");
    fs::write(tree.path().join("Makefile"), "VERSION = 6\nPATCHLEVEL = 1\n").unwrap();
    install(tree.path()).unwrap();
    fs::write(tree.path().join(".config"), "").unwrap();
    let why = KernelTree::of_user(tree.path()).unwrap_err().to_string();
    assert!(why.contains("built in place") && why.contains("git worktree add"), "{why}");
}

#[test]
fn a_tree_of_the_users_is_not_changed_unasked() {
    let tree = small_tree();
    let why = KernelTree::of_user(tree.path()).unwrap_err().to_string();
    assert!(why.contains("idlewise boot overlay"), "{why}");
    assert_eq!(read(tree.path(), "Kconfig"), KCONFIG);
    install(tree.path()).unwrap();
    KernelTree::of_user(tree.path()).unwrap();
    fs::write(tree.path().join("drivers/cpuidle/governors/idlewise/record.c"), "changed").unwrap();
    assert!(KernelTree::of_user(tree.path()).is_err());
}

/// In Debian's tree, with every warning that the kernel's build knows; and sparse, where it is installed.
#[test]
fn the_overlay_compiles_in_a_kernel_without_a_warning() {
    let Some(lab) = std::env::var_os("IDLEWISE_LAB") else {
        eprintln!("skipped: IDLEWISE_LAB names no folder for a kernel tree (make test sets it)");
        return;
    };
    let missing = ["aarch64-linux-gnu-gcc", "bison", "flex", "bc"].into_iter().find(|t| {
        !Command::new("sh")
            .args(["-c", &format!("command -v {t}")])
            .output()
            .is_ok_and(|o| o.status.success())
    });
    if let Some(tool) = missing {
        eprintln!("skipped: {tool} is not installed");
        return;
    }
    for version in kernels_to_compile_in(Path::new(&lab)) {
        let lab = LabFolder::open(Some(Path::new(&lab))).unwrap();
        let tree = KernelTree::of_debian(&lab, version, &Nobody).unwrap();
        compiles_without_a_warning(&lab, &tree);
        compile_a_users_governor(&tree, &lab);
        check_style(tree.folder());
    }
}

fn compiles_without_a_warning(lab: &LabFolder, tree: &KernelTree) {
    let build = Build::new(tree, Configuration::Small, lab, None, &Nobody).unwrap();
    // What was compiled before would not warn again.
    let compiled = build.folder().join("drivers/cpuidle/governors/idlewise");
    assert!(!compiled.exists() || fs::remove_dir_all(&compiled).is_ok());
    let warnings = build.compile_overlay().unwrap();
    let ours: Vec<&String> = warnings.iter().filter(|w| w.contains("idlewise")).collect();
    assert!(ours.is_empty(), "{ours:#?}");
    compile_outside_of_the_tree(&build);
    compile_the_patch_of_one_governor(&build, tree.folder());
}

/// The files that a patch adds to Debian's Kconfig and Makefile, as the kernel would compile them.
fn compile_the_patch_of_one_governor(build: &Build<'_>, tree: &Path) {
    let copy = tempfile::tempdir().unwrap();
    let governors = copy.path().join("drivers/cpuidle/governors");
    fs::create_dir_all(&governors).unwrap();
    for name in ["drivers/cpuidle/Kconfig", "drivers/cpuidle/governors/Makefile"] {
        fs::copy(tree.join(name), copy.path().join(name)).unwrap();
    }
    git_apply(copy.path(), &patch(tree, Some("eco")).unwrap());
    // It can be no module, and nothing else is compiled outside of a tree.
    fs::write(governors.join("built-in.h"), "#undef MODULE\n").unwrap();
    let licence = "#include <linux/module.h>\nMODULE_LICENSE(\"GPL\");\nMODULE_DESCRIPTION(\"eco\");\n";
    fs::write(governors.join("licence.c"), licence).unwrap();
    let flags = format!("CFLAGS_eco.o := -include {}/built-in.h\n", governors.display());
    let kbuild = format!("obj-m += with-eco.o\nwith-eco-objs := eco.o licence.o\n{flags}");
    fs::write(governors.join("Kbuild"), kbuild).unwrap();
    let done = make_modules(build, &governors);
    assert!(done.is_empty() && governors.join("eco.o").is_file(), "{done}");
}

/// A file of the user's: a copy of one of ours, and another with a mistake.
fn compile_a_users_governor(tree: &KernelTree, lab: &LabFolder) {
    let folder = tempfile::tempdir().unwrap();
    let governors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../governors");
    let good = folder.path().join("my-copy.c");
    let mut sources = vec![good.clone()];
    for entry in fs::read_dir(&governors).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "h") {
            sources.push(folder.path().join(path.file_name().unwrap()));
            fs::copy(&path, sources.last().unwrap()).unwrap();
        }
    }
    fs::copy(governors.join("teo-util.c"), &good).unwrap();
    let there = [UserGovernor::new("./my-copy.c", 1, "teo-util", &sources).unwrap()];
    let build = Build::new(tree, Configuration::Small, lab, None, &Nobody).unwrap().with_governors(&there);
    let warnings = build.compile_overlay().unwrap();
    assert!(!warnings.iter().any(|w| w.contains("users/my")), "{warnings:#?}");
    let users = build.folder().join("drivers/cpuidle/governors/idlewise/users/my");
    let object = fs::read(users.join("my_my_copy.o")).unwrap();
    assert!(object.windows(12).any(|w| w == b"my-teo-util\0"), "no name of its own");

    sources[0] = folder.path().join("bad.c");
    fs::write(&sources[0], "int wrong = nonsense;\n").unwrap();
    let there = [UserGovernor::new("./bad.c", 1, "bad", &sources[..1]).unwrap()];
    let build = Build::new(tree, Configuration::Small, lab, None, &Nobody).unwrap().with_governors(&there);
    let why = build.compile_overlay().unwrap_err().to_string();
    assert!(why.contains("./bad.c:1:") && why.contains("nonsense"), "{why}");
    assert!(!users.join("my_my_copy.c").exists());
    // The build's folder is everybody's.
    Build::new(tree, Configuration::Small, lab, None, &Nobody).unwrap().compile_overlay().unwrap();
}

/// By the kernel's own rules for patches.
fn check_style(tree: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(tree.join("scripts/checkpatch.pl"));
    command.args(["--no-tree", "--terse", "--max-line-length=100", "--no-summary"]);
    // The newest rules want a macro that 6.1 does not have.
    command.args(["--ignore", "ALLOC_WITH_SIZEOF", "-f"]);
    let mut files = Vec::new();
    for folder in ["kernel/overlay/idlewise", "kernel/modules", "signals", "governors"] {
        let all = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(all.filter(|path| path.extension().is_some_and(|e| e == "c" || e == "h")));
    }
    files.sort();
    // The script takes as long as to compile them all.
    command.args(some_of(files, 14));
    let said = command.output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout);
    let serious: Vec<&str> = said.lines().filter(|l| l.contains("ERROR") || l.contains("WARNING")).collect();
    assert!(serious.is_empty(), "{serious:#?}");
}

/// The modules as one would build them for the kernel that runs: their folder alone, against a prepared build.
fn compile_outside_of_the_tree(build: &Build<'_>) {
    // A copy, because a kernel's build leaves its files beside the sources.
    let copy = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in ["signals", "kernel/modules"] {
        let to = copy.path().join(folder);
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let source = ["c", "h"].iter().any(|e| path.extension().is_some_and(|x| x == *e));
            if source || path.file_name().unwrap() == "Kbuild" {
                fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    let modules = copy.path().join("kernel/modules");
    let warnings = make_modules(build, &modules);
    assert!(warnings.is_empty(), "{warnings}");
    for module in ["walt_tracker.ko", "cpufreq_walt.ko", "cpufreq_lab.ko"] {
        assert!(modules.join(module).is_file(), "no {module}");
    }
}

/// What the kernel's build warns of where it compiles the modules of a folder.
fn make_modules(build: &Build<'_>, folder: &Path) -> String {
    let done = Command::new("make")
        .args(["-s", "W=1", "ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-", "-C"])
        .arg(build.folder())
        .arg(format!("M={}", folder.display()))
        // Nothing was linked here, so no symbol is known.
        .args(["KBUILD_MODPOST_WARN=1", "modules"])
        .env_remove("MAKEFLAGS")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    // A governor is no module; only its code is compiled here.
    let of_code = |line: &&str| line.contains("warning:") && !line.contains("MODULE_");
    said.lines().filter(of_code).fold(String::new(), |all, line| all + line + "\n")
}
