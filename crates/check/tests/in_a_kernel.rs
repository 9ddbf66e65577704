// SPDX-License-Identifier: GPL-2.0-only
//! Does the KUnit test that is printed fail where the fault is, and pass where it is mended? It is compiled here against the
//! headers of governors/shim and a KUnit of a few lines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use idlewise_check::Property;
use idlewise_checkout::root;

use crate::bench::{Bench, Fault, some};

/// As much of KUnit as the tests use: cases run one after the other, and the exit status is how many failed.
const KUNIT: &str = r#"/* SPDX-License-Identifier: GPL-2.0-only */
#include <linux/kernel.h>
#include <linux/types.h>

struct kunit {
	int failed;
};
struct kunit_case {
	void (*run)(struct kunit *test);
};
struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(fn)			{ fn }
#define KUNIT_CHECK(test, true)		do { if (!(true)) (test)->failed = 1; } while (0)
#define KUNIT_EXPECT_FALSE(test, a)	KUNIT_CHECK(test, !(a))
#define KUNIT_EXPECT_LE(test, a, b)	KUNIT_CHECK(test, (a) <= (b))
#define KUNIT_EXPECT_GE(test, a, b)	KUNIT_CHECK(test, (a) >= (b))
#define KUNIT_ASSERT(test, true)	do { if (!(true)) { (test)->failed = 1; return; } } while (0)
#define KUNIT_ASSERT_EQ(test, a, b)	KUNIT_ASSERT(test, (a) == (b))
#define KUNIT_ASSERT_GE(test, a, b)	KUNIT_ASSERT(test, (a) >= (b))
#define KUNIT_ASSERT_LT(test, a, b)	KUNIT_ASSERT(test, (a) < (b))
#define KUNIT_ASSERT_NOT_NULL(test, a)	KUNIT_ASSERT(test, (a) != NULL)
#define migrate_disable()		do { } while (0)
#define migrate_enable()		do { } while (0)
#define preempt_disable()		do { } while (0)
#define preempt_enable()		do { } while (0)
#define kunit_test_suite(suite)							\
int main(void)									\
{										\
	static unsigned long offsets[8];					\
	int failed = 0;								\
	int i;									\
										\
	idlewise_env.device = &idlewise_device;					\
	idlewise_env.per_cpu_offset = offsets;					\
	for (i = 0; suite.test_cases[i].run; i++) {				\
		struct kunit test = { 0 };					\
										\
		suite.test_cases[i].run(&test);					\
		failed += test.failed;						\
	}									\
	return failed;								\
}
"#;

/// Applies the patch to `folder`, compiles the test that it adds and runs it: how many cases failed.
fn failed(bench: &Bench, folder: &Path, patch: &str) -> i32 {
    let file = bench.file("kunit.patch", patch);
    let o = Command::new("patch").args(["-p4", "-i"]).arg(&file).current_dir(folder).output().unwrap();
    assert!(o.status.success(), "{}\n{patch}", String::from_utf8_lossy(&o.stdout));
    let test = patch.lines().find_map(|l| l.strip_prefix("+++ b/drivers/cpuidle/governors/")).unwrap();
    bench.file("include/kunit/test.h", KUNIT);
    bench.file("include/linux/preempt.h", "/* SPDX-License-Identifier: GPL-2.0-only */\n");
    let (shim, program) = (root().join("governors/shim"), bench.folder.path().join("program"));
    let compile = |arguments: &[&str]| {
        let o = Command::new("cc")
            .args([
                "-std=gnu11",
                "-O1",
                "-Wall",
                "-Werror",
                "-fwrapv",
                "-D__KERNEL__",
                "-DKBUILD_MODNAME=\"x\"",
            ])
            .args(["-include", "linux/kconfig.h"])
            .arg(format!("-I{}", bench.folder.path().join("include").display()))
            .arg(format!("-I{}", shim.join("include").display()))
            .args(arguments)
            .output()
            .unwrap();
        assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    };
    let (object, text) = (bench.folder.path().join("test.o"), folder.join(test));
    let [object, text, program_path] = [&object, &text, &program].map(|p| p.to_str().unwrap());
    compile(&["-nostdinc", "-c", text, "-o", object]);
    let [host, format] = ["host.c", "format.c"].map(|file| shim.join(file).display().to_string());
    compile(&[&host, &format, object, "-o", program_path]);
    Command::new(&program).status().unwrap().code().unwrap()
}

/// The test of what is found in the governor with `fault` fails there, and passes with the governor that has none.
fn fails_only_with(property: Property, select: &str) {
    let bench = Bench::new();
    let governor = bench.made(Fault { select, ..Fault::default() });
    let report = some(&governor, &[property]);
    let patch = report.kunit.unwrap();
    assert!(
        patch.starts_with("--- /dev/null\n+++ b/drivers/cpuidle/governors/made-check-test.c\n"),
        "{patch}"
    );
    let folder: PathBuf = bench.folder.path().to_owned();
    assert_eq!(failed(&bench, &folder, &patch), 1, "{patch}");
    let mended = Bench::new();
    mended.made(Fault::default());
    assert_eq!(failed(&mended, mended.folder.path(), &patch), 0, "{patch}");
}

#[test]
fn tests_of_choices_fail_with_the_fault_and_pass_without() {
    fails_only_with(Property::Index, "if (limit_ns == 0)\n\t\treturn drv->state_count;");
    fails_only_with(
        Property::Disabled,
        "if (limit_ns == 0 && dev->states_usage[0].disable) {\n\t\t*stop_tick = false;\n\t\treturn 0;\n\t}",
    );
    fails_only_with(Property::Polling, "*stop_tick = true;");
    fails_only_with(
        Property::Shallow,
        "for (i = 0; stopped && i < drv->state_count; i++)\n\t\tif (!dev->states_usage[i].disable)\n\t\t\treturn i;",
    );
    fails_only_with(
        Property::Latency,
        "for (i = 0; !stopped && i < drv->state_count; i++)\n\t\tif (!dev->states_usage[i].disable && i > idx)\n\t\t\tidx = i;",
    );
}

#[test]
fn a_patch_adds_the_test_to_the_makefile_next_to_the_governor() {
    let bench = Bench::new();
    bench.file("Makefile", "# one\n# two\n# three\nobj-y += other.o\n");
    let governor = bench.made(Fault { select: "*stop_tick = true;", ..Fault::default() });
    let patch = some(&governor, &[Property::Polling]).kunit.unwrap();
    assert_eq!(failed(&bench, bench.folder.path(), &patch), 1);
    let makefile = fs::read_to_string(bench.folder.path().join("Makefile")).unwrap();
    assert!(makefile.ends_with("obj-y += other.o\nobj-$(CONFIG_KUNIT) += made-check-test.o\n"), "{makefile}");
}
