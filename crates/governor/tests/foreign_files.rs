// SPDX-License-Identifier: GPL-2.0-only
//! Is a C file of the user's compiled when it has to be, only then, and is what it lacks told by name?

use crate::common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use common::{Bench, Parts, TICK_NS, not_compiled, run};
use idlewise_governor::{Governor, GovernorError, GovernorSource, Param, Spec, Workshop, expand};

/// What a user names by this path.
fn of_path(path: &std::path::Path) -> GovernorSource {
    GovernorSource::named_by_user(Spec::new(path.to_str().unwrap()))
}

fn line_of(text: &str, word: &str) -> String {
    format!("mine.c:{}", text.lines().position(|l| l.contains(word)).unwrap() + 1)
}

#[test]
fn a_header_that_appears_later_is_seen() {
    let bench = Bench::new();
    let asks = |name: &str| {
        let top = format!(
            "#define HEADER \"{name}\"\n#if __has_include(HEADER)\n#define STATE 2\n#else\n#define STATE 1\n#endif\n"
        );
        Parts { top: &top, select: "return STATE;", ..Parts::default() }.text()
    };
    for (name, trusted) in [("tune.h", false), ("linux/tune.h", false), ("deeper/down/tune.h", true)] {
        let path = bench.file("mine.c", &asks(name));
        let before = bench.find(&path, "").unwrap();
        assert_eq!(run(&before, 1).unwrap()[0].0, 1, "{name}");
        bench.file(name, "");
        let after = bench.find(&path, "").unwrap();
        assert_eq!(run(&after, 1).unwrap()[0].0, 2, "{name}: the old object decides");
        // What `--again --trust` compares.
        assert_eq!(before.source_hash() == after.source_hash(), trusted, "{name}");
    }
    // What a header that is not included holds may be asked for, too, by a macro of the compiler's.
    let path = bench.file("mine.c", &Parts::default().text());
    let before = bench.find(&path, "").unwrap().source_hashes();
    bench.file("tune.h", "#define ANOTHER 1\n");
    assert_ne!(bench.find(&path, "").unwrap().source_hashes(), before);
}

/// Two words that meet their part of XXH3's secret add what is next to it to the hash, in any order: who writes one file can write
/// another with the same hash.
#[test]
fn files_that_a_hash_for_tables_confuses_are_told_apart() {
    let bench = Bench::new();
    let hash = |first: &[u8; 4], second: &[u8; 4]| {
        let mut text = b"/* a governor ".to_vec();
        text.resize(128, b'.');
        text.extend([&b"\xde\xd4\x6d\xe9"[..], first, b"\n#define STATE 0 /* */\n/* "].concat());
        text.resize(768, b'.');
        text.extend([&b"\xa8\xfa\x76\x3f"[..], second, b"\n#define STATE 1\n/* */\n"].concat());
        text.extend([b"/* ", &[b'.'; 400][..], b" */\n"].concat());
        text.extend(Parts { select: "return STATE;", ..Parts::default() }.text().bytes());
        let path = bench.file("mine.c", "");
        fs::write(&path, text).unwrap();
        let governor = bench.find(&path, "").unwrap();
        (run(&governor, 1).unwrap()[0].0, governor.source_hash().unwrap())
    };
    let (one, other) = (hash(b"    ", b"*/  "), hash(b"*/  ", b"    "));
    assert!(one.0 != other.0 && one.1 != other.1 && one.1.len() == 64, "{one:?} {other:?}");
}

#[test]
fn what_is_missing_is_named_with_its_line() {
    let text = Parts { top: "#include <linux/no_such.h>", ..Parts::default() }.text();
    let beside = ["<linux/no_such.h>", "next to the governor", "governors/shim/include"];
    not_compiled(&text, &[&beside[..], &[&line_of(&text, "no_such")]].concat());
    // A header of the system's is none of a kernel's.
    not_compiled(&Parts { top: "#include <stdio.h>", ..Parts::default() }.text(), &["<stdio.h>"]);
    let text = Parts { select: "return no_such(dev);", ..Parts::default() }.text();
    not_compiled(&text, &[&line_of(&text, "no_such"), "function `no_such`"]);
    let text = Parts { select: "return NO_SUCH;", ..Parts::default() }.text();
    not_compiled(&text, &[&line_of(&text, "NO_SUCH"), "`NO_SUCH`"]);
    let text = Parts { select: "return dev->no_such;", ..Parts::default() }.text();
    not_compiled(&text, &[&line_of(&text, "no_such"), "`struct cpuidle_device` has no `no_such`"]);
    let text = Parts { top: "int no_such(void);", select: "return no_such();", ..Parts::default() }.text();
    not_compiled(&text, &[&line_of(&text, "return no_such"), "`no_such` is declared but nowhere defined"]);
    let text = Parts { select: "return 0", ..Parts::default() }.text();
    not_compiled(&text, &["mine.c:", "expected"]);
    let text = Parts::default().text().replace(".select = pick", ".select = told");
    not_compiled(&text, &["incompatible pointer"]);
}

#[test]
fn a_typo_in_the_users_own_struct_is_not_the_shims() {
    let select = "return per_cpu_ptr(&all, dev->cpu)->cuont;";
    let own = "struct mine {\n\tint count;\n};\n";
    let all = "#include <linux/percpu.h>\nstatic DEFINE_PER_CPU(struct mine, all);";
    let text = Parts { top: &format!("{own}{all}"), select, ..Parts::default() }.text();
    let at = line_of(&text, "struct mine {");
    not_compiled(&text, &["`struct mine`, which is defined at", &at, "has no `cuont`"]);
    // In a header of theirs; and through a name for the type.
    let bench = Bench::new();
    bench.file("own.h", "#define X 1\ntypedef struct {\n\tint count;\n} mine_t;\n");
    let all = "#include \"own.h\"\n#include <linux/percpu.h>\nstatic DEFINE_PER_CPU(mine_t, all);";
    let path = bench.file("mine.c", &Parts { top: all, select, ..Parts::default() }.text());
    let said = bench.find(&path, "").unwrap_err().to_string();
    assert!(said.contains("own.h:4, has no `cuont`") && !said.contains("idlewise's `"), "{said}");
    assert!(!said.contains("Put missing declarations"), "{said}");
}

#[test]
fn what_is_no_c_file_is_said_to_be_none_before_a_compiler_sees_it() {
    let bench = Bench::new();
    for (name, word) in [
        ("p.patch", "a patch: apply it to a copy"),
        ("p.DIFF", "a patch"),
        ("mine.py", "another language"),
        ("gov.h", "a header"),
        ("mine.ko", "what a compiler made"),
        ("mine.c.orig", "does not end in .c"),
        ("mine", "does not end in .c"),
    ] {
        let path = bench.file(name, "x");
        let said = bench.find(&path, "").unwrap_err().to_string();
        assert!(said.contains("no C file") && said.contains(word) && said.contains(name), "{said}");
        if name.contains("p.") || name.contains(".py") {
            // Without a folder before it, too.
            let said = Governor::open_in(&GovernorSource::named_by_user(Spec::new(name)), &bench.workshop())
                .unwrap_err()
                .to_string();
            assert!(said.contains("no C file") && said.contains(word), "{said}");
        }
    }
    let said = Governor::open_in(&GovernorSource::named_by_user(Spec::new("teo-6.3")), &bench.workshop())
        .unwrap_err()
        .to_string();
    assert!(said.contains("no governor `teo-6.3`"), "{said}");
}

#[test]
fn what_is_no_governor_file_is_said_to_be_none() {
    let bench = Bench::new();
    let junk = bench.file("junk.c", "");
    fs::write(&junk, [0x7f, b'E', b'L', b'F', 0, 1, 2]).unwrap();
    let said = |path: &std::path::Path| bench.find(path, "").unwrap_err().to_string();
    assert!(said(&junk).contains("not a text"), "{}", said(&junk));
    assert!(said(bench.folder.path()).contains("not a regular file"));
    let nowhere = bench.folder.path().join("nowhere.c");
    assert!(said(&nowhere).contains("nowhere.c") && said(&nowhere).contains("No such file"));
    assert!(said(std::path::Path::new("/dev/null")).contains("not a regular file"));
    let empty = bench.file("empty.c", "");
    let governor = bench.find(&empty, "").unwrap();
    assert!(common::refused(&governor).contains("registers no governor"));
}

#[test]
fn files_beside_the_governor_are_found() {
    let bench = Bench::new();
    bench.file("sub/gov.h", "#define DEEPEST 3\n");
    bench.file("sub/linux/mine.h", "#define STOP true\n");
    let top = "#include \"gov.h\"\n#include <linux/mine.h>";
    let select = "*stop_tick = STOP;\n\treturn DEEPEST;";
    let path = bench.file("sub/my own-gov.c", &Parts { top, select, ..Parts::default() }.text());
    let choices = |bench: &Bench| run(&bench.find(&path, "").unwrap(), 1).unwrap();
    assert_eq!(choices(&bench), [(3, true); 2]);
    bench.file("sub/gov.h", "#define DEEPEST 2\n");
    assert_eq!(choices(&bench), [(2, true); 2], "a header has changed");
    // A header of the user's takes the place of the shim's.
    bench.file("sub/linux/tick.h", "#error mine\n");
    assert!(bench.find(&path, "").unwrap_err().to_string().contains("mine"));
}

#[test]
fn an_object_that_is_kept_needs_no_compiler() {
    let bench = Bench::new();
    let path = bench.file("mine.c", &Parts { select: "return 1;", ..Parts::default() }.text());
    // A compiler may write to no other file than its own: it counts calls by connections.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let port = server.local_addr().unwrap().port();
    let script = format!("#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/{port} 3>&-\nexec cc \"$@\"\n");
    let compiler = bench.file("compiler", &script);
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    let cache = bench.folder.path().join("cache");
    let workshop = || bench.workshop().with_cache(&cache).with_compiler(compiler.to_str().unwrap());
    let made = std::cell::Cell::new(0);
    let calls = || {
        made.set(made.get() + server.incoming().map_while(Result::ok).count());
        made.get()
    };
    let find = || Governor::open_in(&of_path(&path), &workshop()).unwrap();
    let first = find();
    assert_eq!(
        calls(),
        8,
        "for three names, to see what it includes, to compile the shim and it, to assemble, and to link"
    );
    assert_eq!(find().source_hash(), first.source_hash());
    assert_eq!(calls(), 9, "it is kept");
    let entry = fs::read_dir(&cache).unwrap().map(|e| e.unwrap().path());
    let entry = entry.into_iter().find(|p| p.extension().is_some_and(|e| e == "governor")).unwrap();
    let whole = fs::read(&entry).unwrap();
    for damaged in [&whole[..whole.len() / 2], &[&whole[..400], b"x", &whole[401..]].concat(), b""] {
        fs::write(&entry, damaged).unwrap();
        let before = calls();
        assert_eq!(run(&find(), 1).unwrap(), [(1, true); 2]);
        assert_eq!(calls(), before + 4, "a damaged entry is made again");
    }
    assert_eq!(fs::read(&entry).unwrap(), whole);
    let before = calls();
    fs::write(&path, fs::read_to_string(&path).unwrap() + "extern int more;\n").unwrap();
    assert_ne!(find().source_hash(), first.source_hash());
    assert_eq!(calls(), before + 4, "the file has changed");
    // Another compiler makes another object.
    let other = bench.workshop().with_compiler("/bin/false");
    let said = Governor::open_in(&of_path(&path), &other).unwrap_err().to_string();
    assert!(said.contains("does not compile"), "{said}");
}

#[test]
fn without_a_compiler_that_is_what_is_said() {
    let bench = Bench::new();
    let path = bench.file("mine.c", &Parts::default().text());
    let none = bench.workshop().with_compiler("no-such-cc");
    let said = Governor::open_in(&of_path(&path), &none).unwrap_err().to_string();
    assert!(said.contains("no-such-cc") && said.contains("install gcc or clang"), "{said}");
}

#[test]
fn many_may_want_the_same_file_at_once() {
    let bench = Bench::new();
    let path = bench.file("mine.c", &Parts { select: "return 1;", ..Parts::default() }.text());
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| assert_eq!(run(&bench.find(&path, "").unwrap(), 1).unwrap(), [(1, true); 2]));
        }
    });
}

#[test]
fn a_folder_of_everybodys_is_no_place_for_objects() {
    let bench = Bench::new();
    let path = bench.file("mine.c", &Parts::default().text());
    let cache = bench.folder.path().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let workshop = bench.workshop().with_cache(&cache);
    let said = Governor::open_in(&of_path(&path), &workshop).unwrap_err().to_string();
    assert!(said.contains("only you can write to") && said.contains("XDG_CACHE_HOME"), "{said}");
}

#[test]
fn module_parameters_are_found_whatever_their_type() {
    let bench = Bench::new();
    let top = r#"
static bool a_bool = true;
module_param(a_bool, bool, 0644);
static unsigned char a_byte = 1;
module_param(a_byte, byte, 0644);
static short a_short = -2;
module_param(a_short, short, 0);
static unsigned short a_ushort = 3;
module_param(a_ushort, ushort, 0);
static int an_int = -4;
module_param(an_int, int, 0444);
static unsigned int inner = 5;
module_param_named(a_uint, inner, uint, 0644);
MODULE_PARM_DESC(a_uint, "what it does");
static long a_long = -6;
module_param(a_long, long, 0644);
static unsigned long a_ulong = 7;
module_param(a_ulong, ulong, 0644);
static unsigned long long a_ullong = 8;
module_param(a_ullong, ullong, 0644);
static unsigned int a_hexint = 9;
module_param(a_hexint, hexint, 0644);
static char *a_charp = "words";
module_param(a_charp, charp, 0444);
static int set_it(const char *val, const struct kernel_param *kp)
{
	return val && kp ? 0 : -EINVAL;
}
static const struct kernel_param_ops its_ops = { .set = set_it };
static int a_cb;
module_param_cb(a_cb, &its_ops, &a_cb, 0644);
"#;
    let path = bench.file("mine.c", &Parts { top, select: "return inner;", ..Parts::default() }.text());
    let governor = bench.find(&path, "").unwrap();
    let params: Vec<Param> = governor.run(|loader| Ok(loader.load(TICK_NS)?.params())).unwrap();
    let shown: Vec<String> =
        params.iter().map(|p| format!("{} {} {}", p.name, p.type_name, p.value)).collect();
    let expected = [
        "a_bool bool 1",
        "a_byte byte 1",
        "a_short short -2",
        "a_ushort ushort 3",
        "an_int int -4",
        "a_uint uint 5",
        "a_long long -6",
        "a_ulong ulong 7",
        "a_ullong ullong 8",
        "a_hexint hexint 9",
        "a_charp charp ?",
        "a_cb callback ?",
    ];
    assert_eq!(shown, expected);
    assert_eq!(params[5].description, "what it does");
    let label = format!("{}:a_uint=1", path.display());
    let set = bench.find(&path, ":a_uint=1").unwrap();
    assert_eq!((set.label(), run(&set, 1).unwrap()), (label, vec![(1, true); 2]));
    for (params, word) in [
        (":a_unit=1", "did you mean `a_uint`"),
        (":a_byte=256", "not a `byte`"),
        (":a_charp=x", "does not know"),
        (":a_cb=1", "does not know"),
    ] {
        let said = common::refused(&bench.find(&path, params).unwrap());
        assert!(said.contains(word), "{params}: {said}");
    }
}

/// A kernel tree of two files.
fn tree(bench: &Bench, name: &str, version: [u32; 3], text: &str) -> std::path::PathBuf {
    let [v, p, s] = version;
    bench.file(
        &format!("{name}/Makefile"),
        &format!("# SPDX-License-Identifier: GPL-2.0\nVERSION = {v}\nPATCHLEVEL = {p}\nSUBLEVEL = {s}\nEXTRAVERSION =\n"),
    );
    bench.file(&format!("{name}/drivers/cpuidle/governors/gov.h"), "#define IN_THE_TREE 1\n");
    bench.file(&format!("{name}/drivers/cpuidle/governors/mine.c"), text);
    bench.folder.path().join(name)
}

const ERA: &str = r#"
#include <linux/sched.h>
#include <linux/version.h>
#define SIGNED(x) (__builtin_types_compatible_p(typeof(x), s64))
#define TYPES(is) _Static_assert(SIGNED(((struct cpuidle_state *)0)->exit_latency_ns) == is, "type of latencies"); \
	_Static_assert(SIGNED(((struct cpuidle_state *)0)->target_residency_ns) == is, "type of residencies")
"#;

#[test]
fn the_kernel_around_a_file_decides_the_types() {
    let bench = Bench::new();
    let with = |top: &str, select: &str| {
        let top = format!("{ERA}{top}");
        Parts { top: &top, select, ..Parts::default() }.text()
    };
    let old = with(
        "TYPES(0);\n_Static_assert(LINUX_VERSION_CODE == KERNEL_VERSION(5, 10, 255), \"version\");",
        "return sched_cpu_util(dev->cpu, 1024);",
    );
    let new = with(
        "TYPES(1);\n_Static_assert(LINUX_VERSION_CODE == KERNEL_VERSION(6, 12, 117), \"version\");",
        "return sched_cpu_util(dev->cpu);",
    );
    let trees = [
        tree(&bench, "old", [5, 10, 259], &old),
        tree(&bench, "new", [6, 12, 117], &new),
        tree(&bench, "middle", [5, 13, 0], &with("TYPES(1);", "return sched_cpu_util(dev->cpu, 9);")),
    ];
    let all = |text: &str| {
        let spec: Spec = text.parse().unwrap();
        expand(&spec, &trees)?
            .iter()
            .map(|source| Governor::open_in(source, &bench.workshop()))
            .collect::<Result<Vec<_>, GovernorError>>()
    };
    for (text, label, kernel) in [
        ("linux:5.10/mine", "linux-5.10.259/mine", "5.10.259"),
        ("linux:6.12", "linux-6.12.117/mine", "6.12.117"),
        ("linux:5.13.0", "linux-5.13.0/mine", "5.13.0"),
    ] {
        let found = all(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].label().as_str(), found[0].kernel().as_deref()), (label, Some(kernel)));
        run(&found[0], 1).unwrap();
    }
    for (text, words) in [
        ("linux:6.1/mine", &["no kernel tree", "5.10.259", "6.12.117"][..]),
        ("linux:6.12/teo", &["6.12.117 has none", "mine"]),
        ("linux/mine", &["which", "linux:VERSION"]),
    ] {
        let said = all(text).unwrap_err().to_string();
        assert!(words.iter().all(|w| said.contains(w)), "{text}: {said}");
    }
    let twice = [trees[1].clone(), tree(&bench, "again", [6, 12, 117], &new)];
    for text in ["linux:6.12/mine", "linux/mine"] {
        let said = expand(&text.parse().unwrap(), &twice).unwrap_err().to_string();
        let way = format!("{}/drivers/cpuidle/governors/mine.c", twice[1].display());
        for words in ["2 kernel trees are of version 6.12.117", twice[0].to_str().unwrap(), &way] {
            assert!(said.contains(words), "{text}: no {words:?} in {said}");
        }
    }
    let alone = expand(&"linux/mine".parse().unwrap(), &trees[..1]).unwrap();
    assert!(alone[0].spec().id.ends_with("old/drivers/cpuidle/governors/mine.c"));
    let said = expand(&"linux/mine".parse().unwrap(), &[]).unwrap_err().to_string();
    assert!(said.contains("--kernel-tree"), "{said}");
    // Outside of any tree a file is taken as the newest kernel's.
    let lonely = bench.file("lonely.c", &with("TYPES(1);", "return sched_cpu_util(dev->cpu);"));
    assert_eq!(bench.find(&lonely, "").unwrap().kernel(), None);
}

#[test]
fn what_is_no_kernel_tree_is_answered_with_the_way_out() {
    let bench = Bench::new();
    let archive = bench.file("linux-source-6.12.tar.xz", "x");
    let said =
        |path: &std::path::Path| expand(&Spec::new("linux/teo"), &[path.to_owned()]).unwrap_err().to_string();
    assert!(said(&archive).contains("tar xf") && said(&archive).contains("drivers/cpuidle"));
    assert!(said(bench.folder.path()).contains("no Makefile with VERSION"));
    assert!(said(&bench.file("file.c", "")).contains("folder of a kernel tree"));
}

#[test]
fn every_header_of_the_shim_stands_alone_and_its_words_compute() {
    let shim = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../governors/shim/include");
    let mut headers = Vec::new();
    let mut folders = vec![shim.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { headers.push(path) }
        }
    }
    assert!(headers.len() > 40);
    let bench = Bench::new();
    let flags = fs::read_to_string(shim.join("../flags")).unwrap();
    for header in headers {
        let name = header.strip_prefix(&shim).unwrap().display().to_string();
        let path = bench.file("one.c", &format!("#include <{name}>\n"));
        let done = std::process::Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()))
            .args(flags.lines().filter(|f| !f.starts_with(['#']) && !f.contains("-Wl,") && *f != "-shared"))
            .args(["-Werror", "-nostdinc", "-fsyntax-only", "-I"])
            .args([&shim, &path])
            .output()
            .unwrap();
        assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    }
    let top = r#"
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/math64.h>
static DEFINE_STATIC_KEY_FALSE(key);
#if !IS_ENABLED(CONFIG_NO_HZ_COMMON) || IS_ENABLED(CONFIG_NO_SUCH)
#error IS_ENABLED
#endif
static int wrong(void)
{
	DECLARE_BITMAP(map, 130) = { 0 };
	u64 n = 1000000007ULL;
	u32 rest;
	int bit, sum = 0;

	if (fls(0) || fls(1) != 1 || fls64(1ULL << 40) != 41 || __ffs(8) != 3 || hweight8(0x1ff) != 8)
		return 1;
	if (ilog2(1025) != 10 || roundup_pow_of_two(17) != 32 || rounddown_pow_of_two(17) != 16)
		return 2;
	if (int_sqrt(99) != 9 || int_sqrt(100) != 10 || int_sqrt64(~0ULL) != 4294967295U)
		return 3;
	if (min3(3, 1, 2) != 1 || clamp(7, 1, 5) != 5 || abs(-4) != 4 || rounddown(17, 5) != 15 ||
	    roundup(17, 5) != 20 || DIV_ROUND_CLOSEST(7, 2) != 4 || round_up(17, 8) != 24)
		return 4;
	rest = do_div(n, 10);
	if (rest != 7 || n != 100000000 || mul_u64_u32_shr(1ULL << 60, 16, 32) != 1ULL << 32)
		return 5;
	__set_bit(3, map);
	__set_bit(129, map);
	for_each_set_bit(bit, map, 130)
		sum += bit;
	if (sum != 132 || find_last_bit(map, 130) != 129 || find_next_zero_bit(map, 130, 3) != 4)
		return 6;
	static_branch_enable(&key);
	if (!static_branch_unlikely(&key) || HZ != 250 || msecs_to_jiffies(5) != 2 || TICK_USEC != 4000)
		return 7;
	if (!time_after(5UL, 3UL) || time_before(5UL, 3UL) || GENMASK(3, 1) != 14)
		return 8;
	return 0;
}
"#;
    let text = Parts { top, select: "return wrong();", ..Parts::default() }.text();
    assert_eq!(run(&bench.governor(&text), 1).unwrap()[0].0, 0);
}

#[test]
fn the_same_file_explains_itself() {
    let bench = Bench::new();
    let select = "pr_debug(\"here\\n\");\n\tpr_info(\"always\\n\");";
    let top = "#undef pr_fmt\n#define pr_fmt(fmt) KBUILD_MODNAME \": \" fmt";
    let governor = bench.governor(&Parts { top, select, ..Parts::default() }.text());
    let said = |explaining: bool| {
        let said = governor.run(|loader| {
            let mut instance =
                if explaining { loader.load_explaining(TICK_NS)? } else { loader.load(TICK_NS)? };
            common::ask(&mut instance, 1)?;
            Ok(instance.take_messages())
        });
        said.unwrap()
    };
    assert_eq!(said(false), ["mine: always"; 2]);
    assert_eq!(said(true), ["mine: here", "mine: always", "mine: here", "mine: always"]);
}

#[test]
fn types_that_hold_each_other_without_bound_are_not_followed() {
    let mut top = "struct s0 { int x; };\n".to_owned();
    for level in 1..7 {
        let members: String = (0..60).map(|m| format!(" struct s{} m{m}[0];", level - 1)).collect();
        top += &format!("struct s{level} {{{members} }};\n");
    }
    top += "static struct s6 nothing;\nstatic u32 calls;";
    let text =
        Parts { top: &top, select: "nothing.m0[0] = nothing.m1[0];\n\tcalls++;", ..Parts::default() }.text();
    let memory = Bench::new().governor(&text).run(|loader| {
        let mut instance = loader.load_explaining(TICK_NS)?;
        let slot = instance.add_cpu(5, &common::table(), 1024)?;
        Ok(instance.memory(slot))
    });
    // The rest costs little.
    assert!(format!("{memory:?}").len() < 20_000_000);
}

#[test]
fn memory_is_read_whatever_its_type() {
    let top = r#"
enum deep { NEGATIVE = -3, ZERO };
struct part { int first; struct { s16 inner; u8 beside; }; struct { int named; } box; };
struct all { enum deep sign; struct part parts[2]; s8 matrix[2][2]; s32 bits:3; u32 more:5; void *pointer; };
static DEFINE_PER_CPU(struct all, all_of);
static const u32 primes[2][2] = { { 2, 3 }, { 5, 7 } };
static u32 calls[2];
"#;
    let select = r#"struct all *a = per_cpu_ptr(&all_of, dev->cpu);

	a->sign = NEGATIVE;
	a->parts[1].inner = -7;
	a->parts[1].beside = 200;
	a->parts[0].box.named = 8;
	a->matrix[1][0] = -1;
	a->bits = -2;
	a->more = 17;
	a->pointer = a;
	calls[1] += *(const volatile u32 *)&primes[dev->cpu & 1][1];"#;
    let bench = Bench::new();
    let governor = bench.governor(&Parts { top, select, ..Parts::default() }.text());
    let memory = governor.run(|loader| {
        let mut instance = loader.load_explaining(TICK_NS)?;
        let slot = instance.add_cpu(5, &common::table(), 1024)?;
        instance.select(slot, &common::inputs(0));
        Ok(instance.memory(slot))
    });
    let said = format!("{:?}", memory.unwrap())
        .replace("Variable { name: ", "")
        .replace(", value: ", " ")
        .replace(" }", "}");
    for part in [
        r#""sign" Number(-3)"#,
        r#"Struct(["first" Number(0)}, "inner" Number(0)}, "beside" Number(0)}, "box" Struct(["named" Number(8)}])}])"#,
        r#""inner" Number(-7)}, "beside" Number(200)}"#,
        "Array([Array([Number(0), Number(0)]), Array([Number(-1), Number(0)])])",
        r#""bits" Number(-2)}, "more" Number(17)}, "pointer" Other"#,
        r#""calls" Array([Number(0), Number(3)])"#,
    ] {
        assert!(said.contains(part), "no {part} in {said}");
    }
    assert!(!said.contains("primes"), "a constant is nothing to remember: {said}");
}

#[test]
fn odd_folders_and_compilers() {
    use std::os::unix::ffi::OsStrExt as _;

    let bench = Bench::new();
    let text = Parts::default().text();
    // The id of a spec is UTF-8, what a link leads to need not be.
    let odd = bench.folder.path().join(std::ffi::OsStr::from_bytes(b"b\xffd"));
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join("mine.c"), &text).unwrap();
    std::os::unix::fs::symlink(odd.join("mine.c"), bench.folder.path().join("link.c")).unwrap();
    for _ in ["made", "kept"] {
        run(&bench.find(&bench.folder.path().join("link.c"), "").unwrap(), 1).unwrap();
    }
    let broken = bench.file("line\nbreak/mine.c", &text);
    let said = bench.find(&broken, "").unwrap_err().to_string();
    assert!(said.contains("a line break in its path"), "{said}");
    let source = of_path(&bench.file("mine.c", &text));
    let said = Governor::open_in(&source, &bench.workshop().with_compiler("true")).unwrap_err().to_string();
    assert!(said.contains("wrote no file") && said.contains("CC"), "{said}");
}

#[test]
fn the_environment_names_a_workshop() {
    // Only that it can be made anywhere; what it says is read by the command's tests.
    assert!(format!("{:?}", Workshop::from_env()).contains("idlewise"));
}

#[test]
fn a_compiler_that_does_not_come_to_an_end_is_given_up() {
    let bench = Bench::new();
    let fifo = bench.file("endless.h", "");
    fs::remove_file(&fifo).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let text = Parts { top: "#include \"endless.h\"", ..Parts::default() }.text();
    let source = of_path(&bench.file("mine.c", &text));
    let said = Governor::open_in(&source, &bench.workshop().with_patience(1)).unwrap_err().to_string();
    assert!(said.contains("did not finish within 24 s"), "{said}");
}

/// The learning half of a governor of two files.
const LEARN: &str = r#"// SPDX-License-Identifier: GPL-2.0-only
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "two.h"

struct history {
	u64 seen;
	u64 *longest;
};

static DEFINE_PER_CPU(struct history, histories);
static DEFINE_PER_CPU(struct irq_work, kicks);
static DEFINE_PER_CPU(raw_spinlock_t, locks);

static void kick(struct irq_work *work)
{
	(void)work;
}

int two_setup(void)
{
	int cpu, loops = 0;

	for_each_possible_cpu(cpu) {
		struct history *h = per_cpu_ptr(&histories, cpu);

		h->seen = 100;
		init_irq_work(per_cpu_ptr(&kicks, cpu), kick);
		raw_spin_lock_init(per_cpu_ptr(&locks, cpu));
		loops++;
	}
	return loops == 1 ? 0 : -EINVAL;
}

int two_start(unsigned int cpu)
{
	struct history *h = &per_cpu(histories, cpu);

	if (h->seen != 100)
		return -EINVAL;
	h->longest = kcalloc(4, sizeof(*h->longest), GFP_KERNEL);
	return h->longest ? 0 : -ENOMEM;
}

void two_learn(u64 ns)
{
	struct history *h = this_cpu_ptr(&histories);
	unsigned long flags;

	raw_spin_lock_irqsave(this_cpu_ptr(&locks), flags);
	h->seen++;
	if (ns > h->longest[0])
		h->longest[0] = ns;
	irq_work_queue(this_cpu_ptr(&kicks));
	raw_spin_unlock_irqrestore(this_cpu_ptr(&locks), flags);
}

int two_choose(void)
{
	return this_cpu_ptr(&histories)->seen > 101;
}
"#;

const LEARN_H: &str = "#include <linux/types.h>\nint two_setup(void);\nint two_start(unsigned int cpu);\n\
                       void two_learn(u64 ns);\nint two_choose(void);\n";

#[test]
fn a_governor_of_several_files_is_compiled_and_linked_as_one() {
    let bench = Bench::new();
    bench.file("two.h", LEARN_H);
    let learn = bench.file("learn.c", LEARN);
    let parts = Parts {
        top: "#include <linux/cpu.h>\n#include <linux/mutex.h>\n#include <linux/err.h>\n#include \"two.h\"",
        init: "if (two_setup())\n\t\treturn -EINVAL;",
        enable: "return two_start(dev->cpu);",
        select: "return two_choose();",
        reflect: "two_learn(dev->last_residency_ns);",
    };
    let main = bench.file("main.c", &parts.text());
    let named = std::path::PathBuf::from(format!("{}+learn.c", main.display()));
    let governor = bench.find(&named, "").unwrap();
    assert_eq!(governor.sources().len(), 3, "{:?}", governor.sources());
    let states = |governor: &Governor| -> Vec<i32> {
        run(governor, 5).unwrap().iter().map(|(state, _)| *state).collect()
    };
    // Each of the two CPUs has its own history.
    assert_eq!(states(&governor), [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
    // A changed part is compiled again.
    let hash = governor.source_hash();
    fs::write(&learn, LEARN.replace("> 101", "> 1000")).unwrap();
    let other = bench.find(&named, "").unwrap();
    assert_ne!(other.source_hash(), hash);
    assert_eq!(states(&other), [0; 10]);
    // Without its other half it says what is missing, and whose mistake a wrong half is.
    let said = bench.find(&main, "").unwrap_err().to_string();
    assert!(said.contains("two_setup"), "{said}");
    fs::write(&learn, LEARN.replace("h->seen++", "h->sene++")).unwrap();
    let said = bench.find(&named, "").unwrap_err().to_string();
    let line = LEARN.lines().position(|l| l.contains("h->seen++")).unwrap() + 1;
    assert!(said.contains(&format!("learn.c:{line}")) && said.contains("sene"), "{said}");
    let gone = std::path::PathBuf::from(format!("{}+gone.c", main.display()));
    let said = bench.find(&gone, "").unwrap_err().to_string();
    assert!(said.contains("gone.c: No such file"), "{said}");
}
