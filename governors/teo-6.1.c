// SPDX-License-Identifier: GPL-2.0-only
/*
 * TEO of Linux 5.14 to 6.2: trust the timer unless wakeups keep coming earlier.
 *
 * The idea: most wakeups are timers, and the kernel knows when the next one is
 * due. So the deepest state that the time to the next timer justifies is the
 * first candidate. What speaks against it is counted: each wakeup lands in the
 * bin of the state that would have been right for it, as a hit if the timer
 * ended the sleep and as an intercept if something else did so earlier. When
 * the intercepts in the bins below the candidate outweigh its hits and all that
 * is deeper, or when more than half of the last nine wakeups were such
 * intercepts, the choice moves to the shallower state by which half of them are
 * covered. The idle time expected then also decides about the tick: with less
 * than a tick to sleep it keeps running.
 *
 * When it wins: work driven by timers, steady or slowly changing mixes of
 * timers and interrupts, machines with few states far apart. The decision costs
 * a loop over the states, and no division.
 *
 * When it loses: bursts. The weights forget one part in eight at each wakeup,
 * so a change of habit takes about ten wakeups to be believed, and on CPUs with
 * tasks running the wakeups that end a sleep early (IPIs, interrupts for the
 * next frame) are guessed too late; that is what teo-util is for. It queries
 * the timers on every decision, and the latency limit only caps the state but
 * not the expected time, so a tick may be stopped for a shallow state.
 *
 * Parameters: decay_shift, how fast the weights forget: one part in 2^3 = 8 at
 * each wakeup (0 to 10; 0 remembers the last wakeup only). nr_recent, how many
 * wakeups back count as recent: 9 (1 to 32).
 *
 * Lineage: TEO came in Linux 5.1 with hits, misses and early hits for each
 * state; 5.14 replaced these by the bins used here, unchanged until 6.2 and in
 * all of 6.1.y. It is the base that seeds 000 and 004 compare with, and that
 * teo-util extends. Written from governors.md, section 6 ("teo-5.14"). Rating
 * as TEO has in Linux.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/percpu.h>

#include "teo-timer-first.h"

static DEFINE_PER_CPU(struct teo_bins, teo_bins);

static int teo_enable_device(struct cpuidle_driver *drv __always_unused,
			     struct cpuidle_device *dev)
{
	teo_bins_enable(per_cpu_ptr(&teo_bins, dev->cpu));
	return 0;
}

static int teo_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	return teo_timer_first_select(per_cpu_ptr(&teo_bins, dev->cpu), drv, dev, stop_tick, NULL,
				      NULL);
}

static void teo_reflect(struct cpuidle_device *dev, int state)
{
	teo_bins_reflect(per_cpu_ptr(&teo_bins, dev->cpu), dev, state);
}

static struct cpuidle_governor teo_governor = {
	.name		= "teo-6.1",
	.rating		= 19,
	.enable		= teo_enable_device,
	.select		= teo_select,
	.reflect	= teo_reflect,
};

static int __init teo_governor_init(void)
{
	return teo_bins_check_params() ?: cpuidle_register_governor(&teo_governor);
}
postcore_initcall(teo_governor_init);
