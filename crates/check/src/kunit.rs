// SPDX-License-Identifier: GPL-2.0-only
//! Findings as a KUnit test: a patch that adds a file next to the governor's.

use std::fmt::Write as _;
use std::path::Path;

use idlewise_files::unified_diff;

use crate::Property;
use crate::hunt::Found;
use crate::judge::deeper_one;
use crate::machine::Machine;
use crate::step::{End, Step};
use crate::world::Decision;

/// Where a kernel keeps its idle governors.
const FOLDER: &str = "drivers/cpuidle/governors";

/// What the tests need besides what the governor includes.
const INCLUDES: [&str; 11] = [
    "linux/bits.h",
    "linux/cpuidle.h",
    "linux/init.h",
    "linux/jiffies.h",
    "linux/kernel.h",
    "linux/ktime.h",
    "linux/module.h",
    "linux/sched.h",
    "linux/sched/clock.h",
    "linux/smp.h",
    "linux/tick.h",
];

/// Behind the includes: what the governor asks of the rest of the kernel, answered by the step.
const BEFORE: &str = "\
/* A decision: what the governor can ask, and what comes of its choice. */
struct check_step {
	u64 now_ns;
	s64 sleep_length_ns;
	s64 delta_tick_ns;
	s64 latency_limit_ns;
	u64 poll_limit_ns;
	u32 util;
	u32 iowait;
	u32 random;
	u16 disabled;
	bool tick_stopped;
	bool rejected;
	bool aborted;
	int entered;
	u64 residency_ns;
	u64 handled_ns;
	bool tick_ran;
	bool poll_time_limit;
};

static const struct check_step *check_now;
static struct cpuidle_governor *check_governor;
static struct cpuidle_driver check_driver;
static struct cpuidle_device check_device;
static long check_tick_ns;
static unsigned long check_capacity;
static u64 check_clock_ns;
static bool check_got_tick;

static inline ktime_t check_sleep_length(ktime_t *delta_tick)
{
	*delta_tick = check_now->delta_tick_ns;
	return check_now->sleep_length_ns;
}

static inline bool check_got_tick_once(void)
{
	bool got_tick = check_got_tick;

	check_got_tick = false;
	return got_tick;
}

static inline int check_register(struct cpuidle_governor *gov)
{
	if (!check_governor || gov->rating > check_governor->rating)
		check_governor = gov;
	return 0;
}

/* The governor's own file, in a kernel that does as the steps say. */
#undef TICK_NSEC
#define TICK_NSEC\t\t\tcheck_tick_ns
#undef __init
#define __init
#undef postcore_initcall
#define postcore_initcall(fn)\t\tstatic int (*const check_init)(void) = fn
#undef cpuidle_register_governor
#define cpuidle_register_governor(gov)\tcheck_register(gov)
#undef cpuidle_governor_latency_req
#define cpuidle_governor_latency_req(cpu)\t((void)(cpu), check_now->latency_limit_ns)
#undef tick_nohz_get_sleep_length
#define tick_nohz_get_sleep_length(to)\tcheck_sleep_length(to)
#undef tick_nohz_tick_stopped
#define tick_nohz_tick_stopped()\tcheck_now->tick_stopped
#undef tick_nohz_idle_got_tick
#define tick_nohz_idle_got_tick()\tcheck_got_tick_once()
#undef nr_iowait_cpu
#define nr_iowait_cpu(cpu)\t\t((void)(cpu), check_now->iowait)
#undef sched_cpu_util
#define sched_cpu_util(...)\t\tcheck_now->util
#undef get_random_u32
#define get_random_u32()\t\tcheck_now->random
#undef local_clock
#define local_clock()\t\t\tcheck_clock_ns
#undef kvm_para_available
#define kvm_para_available()\t\ttrue
#undef arch_scale_cpu_capacity
#define arch_scale_cpu_capacity(cpu)\t((void)(cpu), check_capacity)
#include \"@FILE\"
";

/// Gives the steps to the governor, one after the other.
const PLAY: &str = "\
/* A machine whose first state may poll. */
static void check_set_up(struct kunit *test, int states, const s64 *residency_ns,
			 const s64 *latency_ns, bool polling)
{
	int i;

	memset(&check_driver, 0, sizeof(check_driver));
	memset(&check_device, 0, sizeof(check_device));
	check_got_tick = false;
	check_driver.state_count = states;
	for (i = 0; i < states; i++) {
		struct cpuidle_state *state = &check_driver.states[i];

		state->target_residency_ns = residency_ns[i];
		state->target_residency = div_u64(residency_ns[i], 1000);
		state->exit_latency_ns = latency_ns[i];
		state->exit_latency = div_u64(latency_ns[i], 1000);
		state->flags = !i && polling ? CPUIDLE_FLAG_POLLING : 0;
	}
	KUNIT_ASSERT_EQ(test, check_init(), 0);
	KUNIT_ASSERT_NOT_NULL(test, check_governor);
}

/* Plays the steps; the choice of the last one is left for the test to judge. */
static int check_play(struct kunit *test, const struct check_step *steps, int count,
		      bool *stop_tick)
{
	int idx = -1;
	int i, k;

	migrate_disable();
	check_device.cpu = raw_smp_processor_id();
	check_now = steps;
	if (check_governor->enable)
		check_governor->enable(&check_driver, &check_device);
	for (k = 0; k < count; k++) {
		const struct check_step *step = &steps[k];

		check_now = step;
		check_clock_ns = step->now_ns;
		check_device.poll_limit_ns = step->poll_limit_ns;
		for (i = 0; i < check_driver.state_count; i++)
			check_device.states_usage[i].disable = step->disabled >> i & 1;
		*stop_tick = true;
		preempt_disable();
		idx = check_governor->select(&check_driver, &check_device, stop_tick);
		preempt_enable();
		if (k == count - 1)
			break;
		check_device.last_residency_ns = step->residency_ns;
		if (step->aborted)
			continue;
		if (check_driver.states[step->entered].flags & CPUIDLE_FLAG_POLLING)
			check_device.poll_time_limit = step->poll_time_limit;
		if (step->rejected)
			continue;
		check_got_tick |= step->tick_ran;
		check_clock_ns = step->handled_ns;
		if (check_governor->reflect)
			check_governor->reflect(&check_device, step->entered);
	}
	migrate_enable();
	return idx;
}
";

/// A finding that a test in a kernel can show.
pub(crate) struct Case<'a> {
    pub(crate) found: &'a Found,
    pub(crate) machine: &'a Machine,
}

impl Case<'_> {
    /// Whether a test can play it: on one CPU, with all that was decided known. The choices of a governor that does not repeat them may
    /// be others than those that were found.
    pub(crate) fn can_be_shown(&self) -> bool {
        let Found { property, steps, decisions, .. } = self.found;
        let one_cpu = steps.iter().all(|step| step.cpu == 0);
        let of_code = matches!(property, Property::Arithmetic | Property::Memory);
        let known = !steps.is_empty() && steps.len() == decisions.len();
        let still = *property != Property::Shallow || self.deeper_one().is_some();
        one_cpu && known && (property.is_of_choice() || of_code) && still
    }

    /// The state that the last choice should have been, where that was shallow.
    fn deeper_one(&self) -> Option<usize> {
        let last = self.found.steps.last().zip(self.found.decisions.last());
        last.and_then(|(step, decision)| deeper_one(self.machine, step, decision))
    }
}

/// A patch with a KUnit test of `cases` for the governor whose file `file` has the text `source`; nothing without cases.
/// `makefile` is the text of the Makefile next to the file.
pub(crate) fn patch(cases: &[Case<'_>], file: &Path, source: &str, makefile: Option<&str>) -> Option<String> {
    if cases.is_empty() {
        return None;
    }
    let stem = file.file_stem()?.to_str()?;
    let test = test_file(cases, stem, source);
    let name = test_name(stem);
    let mut out = unified_diff(&format!("{FOLDER}/{name}.c"), None, &test);
    if let Some(makefile) = makefile.filter(|text| text.ends_with('\n')) {
        let with_test = format!("{makefile}obj-$(CONFIG_KUNIT) += {name}.o\n");
        out += &unified_diff(&format!("{FOLDER}/Makefile"), Some(makefile), &with_test);
    }
    Some(out)
}

/// What the test's file is called, without its ending: a kernel makes identifiers of it, so it has no dot.
fn test_name(stem: &str) -> String {
    format!("{}-check-test", stem.replace('.', "_"))
}

fn test_file(cases: &[Case<'_>], stem: &str, source: &str) -> String {
    let name = test_name(stem);
    let mut out = format!(
        "// SPDX-License-Identifier: GPL-2.0-only\n/*\n * Sequences of idle periods in which {stem}.c did not do what a governor must, as found\n \
         * by \"idlewise check\". KUnit calls the suite idle-governor-{stem}. It is built where CONFIG_KUNIT\n \
         * and CONFIG_CPU_IDLE are set, by this line of the Makefile:\n \
         * obj-$(CONFIG_KUNIT) += {name}.o\n */\n#include <kunit/test.h>\n"
    );
    let own = source.lines().filter_map(|l| l.trim().strip_prefix("#include <")?.split_once('>'));
    let mut headers: Vec<&str> = own.map(|(header, _)| header).chain(INCLUDES).collect();
    headers.extend(["linux/math64.h", "linux/preempt.h", "linux/string.h"]);
    headers.sort_unstable();
    headers.dedup();
    headers.iter().for_each(|header| out += &format!("#include <{header}>\n"));
    let before = BEFORE.replace("@FILE", &format!("{stem}.c"));
    out += &format!("\n{before}\n{PLAY}");
    cases.iter().enumerate().for_each(|(i, case)| out += &format!("\n{}", test_case(case, i)));
    out += "\nstatic struct kunit_case check_cases[] = {\n";
    for (i, case) in cases.iter().enumerate() {
        out += &format!("\tKUNIT_CASE({}),\n", name_of(case, i));
    }
    out += &format!(
        "\t{{ }}\n}};\n\nstatic struct kunit_suite check_suite = {{\n\t.name = \"idle-governor-{stem}\",\n\t.test_cases = check_cases,\n}};\nkunit_test_suite(check_suite);\n"
    );
    // KUnit may be a module, and the test then is one, too.
    if !source.contains("MODULE_LICENSE(") {
        out += &format!(
            "\nMODULE_DESCRIPTION(\"KUnit tests of the cpuidle governor in {stem}.c\");\nMODULE_LICENSE(\"GPL\");\n"
        );
    }
    out
}

fn name_of(case: &Case<'_>, number: usize) -> String {
    format!("{}_{}", case.found.property.name().replace('-', "_"), number + 1)
}

fn test_case(case: &Case<'_>, number: usize) -> String {
    let Case { found, machine } = case;
    let name = name_of(case, number);
    let states = machine.table.states();
    let list = |of: &dyn Fn(usize) -> i64| {
        (0..states.len()).map(|i| of(i).to_string()).collect::<Vec<_>>().join(", ")
    };
    let mut out = format!("/* {} */\n", found.what);
    let _ = writeln!(out, "static const struct check_step {name}_steps[] = {{");
    for (step, decision) in found.steps.iter().zip(&found.decisions) {
        out += &step_text(step, decision);
    }
    let polling = states[0].polling;
    let _ = writeln!(out, "}};\n\nstatic void {name}(struct kunit *test)\n{{");
    let residencies = list(&|i| states[i].target_residency_ns);
    let latencies = list(&|i| states[i].exit_latency_ns);
    let _ = writeln!(out, "\tstatic const s64 residency_ns[] = {{ {residencies} }};");
    let _ = writeln!(out, "\tstatic const s64 latency_ns[] = {{ {latencies} }};");
    let _ = writeln!(out, "\tbool stop_tick;\n\tint idx;\n");
    let _ =
        writeln!(out, "\tcheck_tick_ns = {};\n\tcheck_capacity = {};", machine.tick_ns(), machine.capacity);
    let _ = writeln!(out, "\tcheck_set_up(test, {}, residency_ns, latency_ns, {polling});", states.len());
    let _ = writeln!(out, "\tidx = check_play(test, {name}_steps, ARRAY_SIZE({name}_steps), &stop_tick);");
    out += "\tKUNIT_ASSERT_GE(test, idx, 0);\n\tKUNIT_ASSERT_LT(test, idx, check_driver.state_count);\n";
    out += &expectation(case);
    out + "}\n"
}

/// What must be true of the last choice. Where it is the code that is wrong, KASAN and UBSAN let the test fail.
fn expectation(case: &Case<'_>) -> String {
    match case.found.property {
        Property::Disabled => {
            "\tKUNIT_EXPECT_FALSE(test, check_device.states_usage[idx].disable);\n".to_owned()
        }
        Property::Latency => "\tKUNIT_EXPECT_LE(test, (s64)check_driver.states[idx].exit_latency_ns,\n\t\t\t\
                              check_now->latency_limit_ns);\n"
            .to_owned(),
        Property::Polling => "\tKUNIT_EXPECT_FALSE(test, stop_tick &&\n\t\t\t   \
                              check_driver.states[idx].flags & CPUIDLE_FLAG_POLLING);\n"
            .to_owned(),
        Property::Shallow => {
            let Some(better) = case.deeper_one() else { unreachable!("it can be shown") };
            let enough_ns = case.machine.table.states()[better].target_residency_ns;
            let enough_ns = enough_ns.min(case.machine.tick_ns().cast_signed());
            format!(
                "\tKUNIT_EXPECT_GE(test, (s64)check_driver.states[idx].target_residency_ns, (s64){enough_ns});\n"
            )
        }
        _ => String::new(),
    }
}

/// A step's line of the table; what is 0 is left out.
fn step_text(step: &Step, decision: &Decision) -> String {
    let entered = decision.reflected.map_or_else(|| decision.answer.max(0).into(), i64::from);
    let numbers = [
        ("now_ns", decision.start_ns.cast_signed()),
        ("sleep_length_ns", step.timer_ns),
        ("delta_tick_ns", decision.delta_tick_ns),
        ("latency_limit_ns", step.limit_ns),
        ("poll_limit_ns", decision.poll_limit_ns.cast_signed()),
        ("util", step.util.into()),
        ("iowait", step.iowait.into()),
        ("random", step.random.into()),
        ("disabled", step.disabled.into()),
        ("tick_stopped", decision.was_stopped.into()),
        ("rejected", (step.end == End::Rejected).into()),
        ("aborted", (step.end == End::Aborted).into()),
        ("entered", entered),
        ("residency_ns", decision.residency_ns),
        ("handled_ns", decision.handled_ns.cast_signed()),
        ("tick_ran", decision.tick_ran.into()),
        ("poll_time_limit", decision.polled_out.into()),
    ];
    let set: Vec<String> =
        numbers.iter().filter(|(_, n)| *n != 0).map(|(name, n)| format!(".{name} = {n}")).collect();
    let mut out = String::from("\t{");
    let mut width = 9;
    for item in set {
        if width + item.len() + 2 > 98 {
            out += "\n\t ";
            width = 9;
        }
        width += item.len() + 2;
        let _ = write!(out, " {item},");
    }
    out + " },\n"
}
