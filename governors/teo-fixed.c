// SPDX-License-Identifier: GPL-2.0-only
/*
 * TEO with the six fixes posted in June 2024, each of which can be switched off.
 *
 * The idea: the TEO of 6.6 (see teo-6.6) is too ready to take shallow states. A
 * CPU counts as utilised only from a quarter of its capacity on (patch 1), and
 * with two states it then keeps the tick, whichever it gets (2). With a single
 * state that does not poll, the tick stops if the timer is far (3).
 * Stopping the tick has a price, so a millisecond more than a tick must be
 * expected (4). The recent intercepts, whose counts go wrong, do not count any
 * more (5). A wakeup for which the timers had not been asked is no intercept,
 * and before state 0 is taken on history alone they are asked (6).
 *
 * When it wins: I/O that finishes long before the next timer, and timers on
 * CPUs with little work: it is in the deep state far more often than teo-6.6,
 * with fewer misses on both sides.
 *
 * When it loses: the margin for the tick is the same for all states, so sleeps
 * of a little more than a tick are cut in two; a CPU below a quarter of its
 * capacity is again guessed by history alone.
 *
 * Parameters: one switch for each patch, on by default: higher_util_threshold
 * (1), keep_tick_utilised (2), stop_tick_one_state (3), tick_margin (4),
 * no_recent_intercepts (5), no_fake_intercepts (6); all off it is teo-6.6. What
 * the patches put in: higher_util_shift 2 (0 to 11) and higher_util_min 50
 * (0 to 1024), the new threshold; tick_margin_ns 1000000 (0 to 100000000).
 * util_threshold_shift counts without patch 1 only, nr_recent without patch 5
 * only; these, residency_threshold_ns and decay_shift as in teo-6.6.
 *
 * Lineage: version 1 of the series "cpuidle: teo: fixes and improvements" for
 * 6.10, posted on linux-pm on 6 June 2024 (seed 002). Patches 1 to 4 were never
 * merged; 5 and, changed, 6 are in 6.11 together with the removal of all
 * utilisation. As posted, patch 6 writes behind its table with ten states; here
 * it writes nowhere. Written from governors.md, section 9 ("teo-cl1" to
 * "teo-cl6"). Rating as TEO has in Linux.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>

#include "teo-timer-last.h"

static struct teo_fixes fixes = {
	.tick_utilised		= true,
	.tick_one_state		= true,
	.no_recent		= true,
	.no_fake_intercepts	= true,
};

static bool higher_util_threshold = true;
module_param(higher_util_threshold, bool, 0444);
MODULE_PARM_DESC(higher_util_threshold, "patch 1: utilised means more than now");

module_param_named(keep_tick_utilised, fixes.tick_utilised, bool, 0444);
MODULE_PARM_DESC(keep_tick_utilised, "patch 2: with two states a utilised CPU keeps the tick");

module_param_named(stop_tick_one_state, fixes.tick_one_state, bool, 0444);
MODULE_PARM_DESC(stop_tick_one_state, "patch 3: with one state the tick stops if the timer is far");

static bool tick_margin = true;
module_param(tick_margin, bool, 0444);
MODULE_PARM_DESC(tick_margin, "patch 4: stopping the tick takes more than a tick to sleep");

module_param_named(no_recent_intercepts, fixes.no_recent, bool, 0444);
MODULE_PARM_DESC(no_recent_intercepts, "patch 5: recent intercepts do not count on their own");

module_param_named(no_fake_intercepts, fixes.no_fake_intercepts, bool, 0444);
MODULE_PARM_DESC(no_fake_intercepts, "patch 6: without a known timer a wakeup is no intercept");

static uint higher_util_shift = 2;
module_param(higher_util_shift, uint, 0444);
MODULE_PARM_DESC(higher_util_shift, "patch 1: utilised means above capacity >> this (0 to 11)");

static uint higher_util_min = 50;
module_param(higher_util_min, uint, 0444);
MODULE_PARM_DESC(higher_util_min, "patch 1: and above this utilisation (0 to 1024)");

static uint tick_margin_ns = 1000000;
module_param(tick_margin_ns, uint, 0444);
MODULE_PARM_DESC(tick_margin_ns, "patch 4: how much more than a tick (0 to 100000000)");

static DEFINE_PER_CPU(struct teo_timer_last, teo_cpus);

static int teo_enable_device(struct cpuidle_driver *drv __always_unused,
			     struct cpuidle_device *dev)
{
	unsigned long threshold = util_threshold(dev->cpu, util_threshold_shift);

	if (higher_util_threshold)
		threshold = max_t(unsigned long, higher_util_min,
				  util_threshold(dev->cpu, higher_util_shift));

	teo_timer_last_enable(per_cpu_ptr(&teo_cpus, dev->cpu), threshold);
	return 0;
}

static int teo_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	return teo_timer_last_select(per_cpu_ptr(&teo_cpus, dev->cpu), drv, dev, stop_tick, &fixes);
}

static void teo_reflect(struct cpuidle_device *dev, int state)
{
	teo_bins_reflect(&per_cpu_ptr(&teo_cpus, dev->cpu)->bins, dev, state);
}

static struct cpuidle_governor teo_governor = {
	.name		= "teo-fixed",
	.rating		= 19,
	.enable		= teo_enable_device,
	.select		= teo_select,
	.reflect	= teo_reflect,
};

static int __init teo_governor_init(void)
{
	fixes.tick_margin_ns = tick_margin ? (s64)tick_margin_ns : -1;

	return teo_timer_last_check_params() ?:
	       check_param("higher_util_shift", higher_util_shift, 0, UTIL_SHIFT_MAX) ?:
	       check_param("higher_util_min", higher_util_min, 0, 1024) ?:
	       check_param("tick_margin_ns", tick_margin_ns, 0, 100000000) ?:
	       cpuidle_register_governor(&teo_governor);
}
postcore_initcall(teo_governor_init);
