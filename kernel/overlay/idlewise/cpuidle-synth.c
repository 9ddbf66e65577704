// SPDX-License-Identifier: GPL-2.0-only
/*
 * Synthetic idle states, for machines that have none.
 *
 * A virtual CPU knows one way to sleep, WFI. This driver offers any table of
 * idle states on top of it and spends their latencies for real: entering spins
 * for the entry latency, then the CPU waits for an interrupt, and when one
 * comes spins again for the exit latency. Since arm64 wakes from WFI with
 * interrupts masked, the handler runs after the second spin, as it would on
 * hardware that needs the time to wake up. (On x86 the handler would run
 * first: "sti; hlt" cannot be woken otherwise. So there it is not offered.)
 *
 * Parameters: tables, the states of each group of CPUs, as
 *
 *   CPUS=STATE,STATE...[/CPUS=STATE,STATE...]
 *
 * with CPUS as in cpu lists ("0-3") and STATE as NAME:ENTRY:EXIT:RESIDENCY,
 * all three in ns: entry latency, exit latency, target residency. The
 * exit latency that the governors see is the sum of the first two, the worst
 * case, as everywhere in cpuidle. A state called POLL polls and must come
 * first. reject: every Nth entry of a CPU into another than its first
 * state is refused, as firmware does; 0 for none. On the kernel's command line:
 * cpuidle_synth.tables=... Without it the driver stays away.
 *
 * Rules: docs/reference/boot-behaviour.md, 1; governor-behaviour.md, 1.4 and 1.6.
 */
#include <linux/compiler.h>
#include <linux/cpu.h>
#include <linux/cpuidle.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/sched/idle.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>

#include <asm/arch_timer.h>
#include <asm/barrier.h>

/* Rounds between two looks at the counter: some 0.2 us. */
#define SYNTH_SPIN_ROUNDS	24
/* Looks between two breaks for the others. */
#define SYNTH_SPIN_LOOKS	16

/* The clock of a polling CPU is looked at once in so many rounds. */
#define SYNTH_POLL_ROUNDS	201

static char *tables;
module_param(tables, charp, 0444);
MODULE_PARM_DESC(tables, "idle states: CPUS=NAME:ENTRY:EXIT:RESIDENCY,...[/CPUS=...], times in ns");

static uint reject;
module_param(reject, uint, 0644);
MODULE_PARM_DESC(reject, "refuse every Nth entry into a deeper state (0: none)");

/**
 * struct synth_table - the states of one group of CPUs
 * @drv: as cpuidle knows them
 * @cpus: the group
 * @entry_cycles: entry latencies in cycles of the system counter
 * @exit_cycles: exit latencies in the same
 * @registered: cpuidle has it
 */
struct synth_table {
	struct cpuidle_driver drv;
	struct cpumask cpus;
	u64 entry_cycles[CPUIDLE_STATE_MAX];
	u64 exit_cycles[CPUIDLE_STATE_MAX];
	bool registered;
};

static struct synth_table *synth_tables[NR_CPUS];
static unsigned int synth_nr_tables;

/* Entries into deeper states so far. */
static DEFINE_PER_CPU(u32, synth_entries);

/*
 * Spins for so many cycles of the system counter. Reading it costs an emulator
 * far more than a few rounds of a loop; so does cpu_relax(), but it lets the
 * other CPUs go on, which share the emulator's time.
 */
static __always_inline void synth_spin(u64 cycles)
{
	unsigned int looks = 0;
	u64 since;

	if (!cycles)
		return;
	since = __arch_counter_get_cntvct();
	do {
		unsigned int rounds = SYNTH_SPIN_ROUNDS;

		do {
			barrier();
		} while (--rounds);
		if (++looks % SYNTH_SPIN_LOOKS == 0)
			cpu_relax();
	} while (__arch_counter_get_cntvct() - since < cycles);
}

static __cpuidle int synth_enter(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	const struct synth_table *table = container_of(drv, struct synth_table, drv);
	u32 every = READ_ONCE(reject);

	if (index > 0 && every && raw_cpu_inc_return(synth_entries) % every == 0)
		return -EBUSY;

	synth_spin(table->entry_cycles[index]);
	dsb(sy);
	wfi();
	synth_spin(table->exit_cycles[index]);
	return index;
}

static __cpuidle int synth_poll(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	u64 since_ns = local_clock_noinstr();

	dev->poll_time_limit = false;
	raw_local_irq_enable();
	if (!current_set_polling_and_test()) {
		u64 limit_ns = cpuidle_poll_time(drv, dev);
		unsigned int rounds = 0;

		while (!need_resched()) {
			cpu_relax();
			if (++rounds < SYNTH_POLL_ROUNDS)
				continue;
			rounds = 0;
			if (local_clock_noinstr() - since_ns > limit_ns) {
				dev->poll_time_limit = true;
				break;
			}
		}
	}
	raw_local_irq_disable();
	current_clr_polling();
	return index;
}

static u64 synth_cycles(u64 ns)
{
	return mul_u64_u64_div_u64(ns, arch_timer_get_cntfrq(), NSEC_PER_SEC);
}

/* One NAME:ENTRY:EXIT:RESIDENCY. */
static int __init synth_parse_state(struct synth_table *table, char *text)
{
	struct cpuidle_driver *drv = &table->drv;
	struct cpuidle_state *state = &drv->states[drv->state_count];
	const char *name = strsep(&text, ":");
	u64 ns[3];
	int i;

	if (drv->state_count == CPUIDLE_STATE_MAX || !*name || strlen(name) >= CPUIDLE_NAME_LEN)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(ns); i++) {
		const char *number = strsep(&text, ":");

		if (!number || kstrtou64(number, 10, &ns[i]) || ns[i] > NSEC_PER_SEC)
			return -EINVAL;
	}
	if (text)
		return -EINVAL;

	strscpy(state->name, name, CPUIDLE_NAME_LEN);
	strscpy(state->desc, "synthetic", CPUIDLE_DESC_LEN);
	state->exit_latency_ns = ns[0] + ns[1];
	state->target_residency_ns = ns[2];
	state->enter = synth_enter;
	table->entry_cycles[drv->state_count] = synth_cycles(ns[0]);
	table->exit_cycles[drv->state_count] = synth_cycles(ns[1]);
	if (!strcmp(name, "POLL")) {
		if (drv->state_count)
			return -EINVAL;
		state->enter = synth_poll;
		state->flags = CPUIDLE_FLAG_POLLING;
	}
	drv->state_count++;
	return 0;
}

/* One CPUS=STATE,STATE... */
static struct synth_table *__init synth_parse_table(char *text)
{
	const char *cpus = strsep(&text, "=");
	struct synth_table *table;
	int ret = -EINVAL;

	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return ERR_PTR(-ENOMEM);
	if (!text || cpulist_parse(cpus, &table->cpus))
		goto wrong;
	/* Without this, cpuidle has room for one table only. */
	if (!IS_ENABLED(CONFIG_CPU_IDLE_MULTIPLE_DRIVERS) &&
	    !cpumask_subset(cpu_possible_mask, &table->cpus)) {
		ret = -EOPNOTSUPP;
		goto wrong;
	}
	cpumask_and(&table->cpus, &table->cpus, cpu_possible_mask);
	table->drv.name = "synth";
	table->drv.cpumask = &table->cpus;
	while (text) {
		ret = synth_parse_state(table, strsep(&text, ","));
		if (ret)
			goto wrong;
	}
	return table;

wrong:
	kfree(table);
	return ERR_PTR(ret);
}

static void __init synth_remove(void)
{
	while (synth_nr_tables) {
		struct synth_table *table = synth_tables[--synth_nr_tables];

		if (table->registered)
			cpuidle_unregister(&table->drv);
		kfree(table);
	}
}

static int __init synth_init(void)
{
	char *text, *rest;
	int ret = 0;

	if (!tables)
		return 0;
	text = kstrdup(tables, GFP_KERNEL);
	if (!text)
		return -ENOMEM;

	rest = text;
	while (rest && !ret) {
		struct synth_table *table = synth_parse_table(strsep(&rest, "/"));

		if (IS_ERR(table)) {
			ret = PTR_ERR(table);
			pr_err("cpuidle-synth: table %u of tables=%s is not understood (%d)\n",
			       synth_nr_tables, tables, ret);
			break;
		}
		if (synth_nr_tables == ARRAY_SIZE(synth_tables)) {
			kfree(table);
			ret = -E2BIG;
			break;
		}
		synth_tables[synth_nr_tables++] = table;
		if (cpumask_empty(&table->cpus))
			continue;
		ret = cpuidle_register(&table->drv, NULL);
		table->registered = !ret;
	}
	kfree(text);
	if (ret)
		synth_remove();
	return ret;
}

device_initcall(synth_init);
