// SPDX-License-Identifier: GPL-2.0-only
/*
 * cpufreq_lab: operating points of any machine, for a guest that has none.
 *
 * The idea: governors need something to choose from. This driver takes
 * frequencies from a parameter, lets governors choose, and does nothing about
 * it but what the cpufreq core does by itself: the trace event cpu_frequency,
 * statistics, and the scale by which the scheduler's averages become invariant.
 * No clock changes. With powers it also registers an energy model.
 *
 * Parameters: kinds, one for each clock, separated by semicolons:
 *
 *	CPUS:CAPACITY:KHZ[/UW],KHZ[/UW],...
 *
 * CPUS is a list as in 0-3, CAPACITY that of a CPU at its highest frequency,
 * 1 to 1024, or 0 to leave it as the device tree has it, KHZ rise, and UW is
 * the power of one CPU there. CPUs that are in no kind get no driver. A
 * parameter holds 1024 characters.
 *
 *	kinds="0-3:160:300000/1440,738000/4590,1803000/17810;4-7:1024:500000,2802000"
 *
 * latency_ns is what the cpufreq core believes a change to take. slow_switch
 * makes changes go by the thread of the governor, as on machines whose clocks
 * cannot be set from the scheduler.
 *
 * A CAPACITY changes only what CPUs are taken for from then on; scheduling
 * domains were built before. For energy-aware scheduling of unlike CPUs have
 * capacity-dmips-mhz in the device tree, which overrules what is given here.
 */
#include <linux/cpufreq.h>
#include <linux/energy_model.h>
#include <linux/module.h>
#include <linux/sched/topology.h>
#include <linux/slab.h>

static char *kinds;
module_param(kinds, charp, 0444);
MODULE_PARM_DESC(kinds, "CPUS:CAPACITY:KHZ[/UW],...;... of each clock");

static uint latency_ns = 10000;
module_param(latency_ns, uint, 0444);
MODULE_PARM_DESC(latency_ns, "time that a change is believed to take");

static bool slow_switch;
module_param(slow_switch, bool, 0444);
MODULE_PARM_DESC(slow_switch, "frequencies cannot be set from the scheduler");

/**
 * struct lab_kind - CPUs with one clock
 * @list: all of them
 * @cpus: which
 * @capacity: at the highest frequency, 0 if it is not for us to say
 * @points: how many operating points
 * @powered: each has a power
 * @table: their frequencies, rising, and an end
 * @power_uw: their powers
 * @khz: the frequency that was chosen last
 */
struct lab_kind {
	struct list_head list;
	struct cpumask cpus;
	unsigned int capacity;
	unsigned int points;
	bool powered;
	struct cpufreq_frequency_table *table;
	unsigned int *power_uw;
	unsigned int khz;
};

static LIST_HEAD(lab_kinds);

static struct lab_kind *lab_kind_of(unsigned int cpu)
{
	struct lab_kind *kind;

	list_for_each_entry(kind, &lab_kinds, list) {
		if (cpumask_test_cpu(cpu, &kind->cpus))
			return kind;
	}
	return NULL;
}

/* KHZ or KHZ/UW. */
static int lab_parse_point(struct lab_kind *kind, char *text)
{
	unsigned int *khz = &kind->table[kind->points].frequency;
	unsigned int *power_uw = &kind->power_uw[kind->points];
	char *power = text;

	strsep(&power, "/");
	if (kstrtouint(text, 10, khz) || !*khz)
		return -EINVAL;
	if (kind->points && *khz <= kind->table[kind->points - 1].frequency)
		return -EINVAL;
	if (power && kstrtouint(power, 10, power_uw))
		return -EINVAL;
	kind->powered &= *power_uw != 0;
	kind->points++;
	return 0;
}

static int lab_parse_kind(struct lab_kind *kind, char *text)
{
	char *cpus = strsep(&text, ":"), *capacity = strsep(&text, ":"), *point;
	unsigned int points = 1, cpu;
	int err;

	if (!text || cpulist_parse(cpus, &kind->cpus) || cpumask_empty(&kind->cpus) ||
	    kstrtouint(capacity, 10, &kind->capacity) || kind->capacity > SCHED_CAPACITY_SCALE)
		return -EINVAL;
	for_each_cpu(cpu, &kind->cpus) {
		if (lab_kind_of(cpu))
			return -EINVAL;
	}

	for (point = text; *point; point++)
		points += *point == ',';
	kind->table = kcalloc(points + 1, sizeof(*kind->table), GFP_KERNEL);
	kind->power_uw = kcalloc(points, sizeof(*kind->power_uw), GFP_KERNEL);
	if (!kind->table || !kind->power_uw)
		return -ENOMEM;

	kind->powered = true;
	while ((point = strsep(&text, ","))) {
		err = lab_parse_point(kind, point);
		if (err)
			return err;
	}
	kind->table[kind->points].frequency = CPUFREQ_TABLE_END;
	kind->khz = kind->table[kind->points - 1].frequency;
	return 0;
}

static void lab_free(void)
{
	struct lab_kind *kind, *next;

	list_for_each_entry_safe(kind, next, &lab_kinds, list) {
		list_del(&kind->list);
		kfree(kind->table);
		kfree(kind->power_uw);
		kfree(kind);
	}
}

static int lab_parse(void)
{
	char *copy = kstrdup(kinds ? kinds : "", GFP_KERNEL);
	char *rest = copy, *text;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (text = strsep(&rest, ";"))) {
		struct lab_kind *kind;

		text = strim(text);
		if (!*text)
			continue;
		kind = kzalloc(sizeof(*kind), GFP_KERNEL);
		if (!kind) {
			err = -ENOMEM;
			break;
		}
		err = lab_parse_kind(kind, text);
		list_add_tail(&kind->list, &lab_kinds);
	}
	kfree(copy);
	if (!err && list_empty(&lab_kinds))
		err = -EINVAL;
	if (err == -EINVAL)
		pr_err("cpufreq_lab: kinds: CPUS:CAPACITY:KHZ[/UW],...; KHZ rise, CPUs once\n");
	return err;
}

static int lab_init(struct cpufreq_policy *policy)
{
	struct lab_kind *kind = lab_kind_of(policy->cpu);

	if (!kind)
		return -ENODEV;

	cpumask_copy(policy->cpus, &kind->cpus);
	policy->driver_data = kind;
	policy->freq_table = kind->table;
	policy->cpuinfo.transition_latency = latency_ns;
	policy->cur = kind->khz;
	policy->fast_switch_possible = !slow_switch;
	policy->dvfs_possible_from_any_cpu = true;
	return 0;
}

static int lab_target_index(struct cpufreq_policy *policy, unsigned int index)
{
	struct lab_kind *kind = policy->driver_data;

	WRITE_ONCE(kind->khz, kind->table[index].frequency);
	return 0;
}

static unsigned int lab_fast_switch(struct cpufreq_policy *policy, unsigned int target_khz)
{
	struct lab_kind *kind = policy->driver_data;
	int index = cpufreq_table_find_index_l(policy, target_khz, false);

	WRITE_ONCE(kind->khz, kind->table[index].frequency);
	return kind->khz;
}

static unsigned int lab_get(unsigned int cpu)
{
	struct lab_kind *kind = lab_kind_of(cpu);

	return kind ? READ_ONCE(kind->khz) : 0;
}

/* The lowest operating point that is no lower than *@khz. */
static int lab_active_power(struct device *dev, unsigned long *power_uw, unsigned long *khz)
{
	struct lab_kind *kind = lab_kind_of(dev->id);
	unsigned int i;

	for (i = 0; kind && i < kind->points; i++) {
		if (kind->table[i].frequency < *khz)
			continue;
		*khz = kind->table[i].frequency;
		*power_uw = kind->power_uw[i];
		return 0;
	}
	return -EINVAL;
}

static void lab_register_em(struct cpufreq_policy *policy)
{
	struct em_data_callback callback = EM_DATA_CB(lab_active_power);
	struct lab_kind *kind = policy->driver_data;

	if (!kind->powered)
		return;
	if (em_dev_register_perf_domain(get_cpu_device(policy->cpu), kind->points, &callback,
					policy->cpus, true))
		pr_warn("cpufreq_lab: no energy model for CPU %u\n", policy->cpu);
}

static struct cpufreq_driver lab_driver = {
	.name		= "cpufreq_lab",
	.init		= lab_init,
	.verify		= cpufreq_generic_frequency_table_verify,
	.target_index	= lab_target_index,
	.fast_switch	= lab_fast_switch,
	.get		= lab_get,
	.register_em	= lab_register_em,
#ifdef LAB_GENERIC_ATTR
	.attr		= cpufreq_generic_attr,
#endif
};

static void lab_set_capacities(void)
{
	struct lab_kind *kind;
	unsigned int cpu;

	list_for_each_entry(kind, &lab_kinds, list) {
		if (!kind->capacity)
			continue;
		for_each_cpu(cpu, &kind->cpus)
			WRITE_ONCE(per_cpu(cpu_scale, cpu), kind->capacity);
	}
}

static int __init cpufreq_lab_init(void)
{
	int err = lab_parse();

	if (!err) {
		lab_set_capacities();
		err = cpufreq_register_driver(&lab_driver);
	}
	if (err)
		lab_free();
	return err;
}
module_init(cpufreq_lab_init);

static void __exit cpufreq_lab_exit(void)
{
	cpufreq_unregister_driver(&lab_driver);
	lab_free();
}
module_exit(cpufreq_lab_exit);

MODULE_DESCRIPTION("cpufreq driver that only records what is chosen");
MODULE_AUTHOR("The idlewise project");
MODULE_LICENSE("GPL");
