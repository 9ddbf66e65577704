/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the versions of the menu governor have in common: the ring of recent
 * idle times, the correction of the time to the next timer by experience, and
 * the booking of a wakeup.
 */
#ifndef MENU_COMMON_H
#define MENU_COMMON_H

#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/tick.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "shallower.h"

/* A correction factor of one, kept with the weight of eight wakeups. */
#define MENU_RESOLUTION		1024
#define MENU_DECAY		8
#define MENU_UNITY		(MENU_RESOLUTION * MENU_DECAY)

/* From ns times a correction factor to us. */
#define MENU_FACTOR_NS_TO_US	(MENU_UNITY * (u32)NSEC_PER_USEC)

#define MENU_INTERVALS		8

/*
 * One slot for each order of magnitude; older versions have a second set for
 * CPUs with tasks waiting for I/O.
 */
#define MENU_MAGNITUDES		6
#define MENU_BUCKETS		(2 * MENU_MAGNITUDES)

/* From here on a sleep counts as full length whatever its timer was. */
#define MENU_INTERESTING_NS	(50 * NSEC_PER_MSEC)

/* What a sleep counts that the tick cut short. */
#define MENU_TICK_CUT_NS	(45 * NSEC_PER_MSEC)

/* No interval repeats. */
#define MENU_NO_INTERVAL	U32_MAX

/* 36 times the largest variance must fit into 64 bits. */
#define MENU_SIGMAS_SQUARED	36
#define MENU_VARIANCE_MAX	(U64_MAX / MENU_SIGMAS_SQUARED)
#define MENU_VARIANCE_SMALL	400

/**
 * struct menu_device - what menu knows about a CPU
 * @next_timer_ns: time to the next timer at the last choice
 * @bucket: correction factor that belonged to it
 * @interval_slot: slot of @intervals that the next wakeup takes
 * @needs_update: a wakeup has not been booked yet
 * @tick_wakeup: the tick ended the last sleep, or at least ran
 * @intervals: last idle times, us
 * @factor: how much of the time to the timer was really slept, MENU_UNITY for
 *   all
 */
struct menu_device {
	u64 next_timer_ns;
	u32 bucket;
	u32 interval_slot;
	bool needs_update;
	bool tick_wakeup;
	u32 intervals[MENU_INTERVALS];
	u32 factor[MENU_BUCKETS];
};

static __always_inline void menu_enable(struct menu_device *data)
{
	int i;

	memset(data, 0, sizeof(*data));
	for (i = 0; i < MENU_BUCKETS; i++)
		data->factor[i] = MENU_UNITY;
}

static __always_inline void menu_reflect_common(struct menu_device *data,
						struct cpuidle_device *dev, int index)
{
	dev->last_state_idx = index;
	data->needs_update = true;
	data->tick_wakeup = tick_nohz_idle_got_tick();
}

/* Order of magnitude of @duration_ns: 0 below 10 us, 5 from 100 ms on. */
static __always_inline u32 menu_magnitude(u64 duration_ns)
{
	u64 limit_ns = 10 * NSEC_PER_USEC;
	u32 i;

	for (i = 0; i < MENU_MAGNITUDES - 1 && duration_ns >= limit_ns; i++)
		limit_ns *= 10;

	return i;
}

static __always_inline void menu_push_interval(struct menu_device *data, u32 interval_us)
{
	data->intervals[data->interval_slot] = interval_us;
	data->interval_slot = (data->interval_slot + 1) % MENU_INTERVALS;
}

/* Book the last wakeup. */
static __always_inline void menu_update(struct menu_device *data, const struct cpuidle_driver *drv,
					const struct cpuidle_device *dev)
{
	const struct cpuidle_state *last = &drv->states[dev->last_state_idx];
	u32 factor = data->factor[data->bucket];
	u64 measured_ns;

	if (data->tick_wakeup && data->next_timer_ns > (u64)TICK_NSEC) {
		/*
		 * The tick should have been stopped; do not let it look like
		 * the event that was awaited.
		 */
		measured_ns = MENU_TICK_CUT_NS;
	} else if ((last->flags & CPUIDLE_FLAG_POLLING) && dev->poll_time_limit) {
		/* The end of the polling loop is no event. */
		measured_ns = data->next_timer_ns;
	} else {
		u64 latency_ns = last->exit_latency_ns;

		measured_ns = dev->last_residency_ns;
		if (measured_ns > 2 * latency_ns)
			measured_ns -= latency_ns;
		else
			measured_ns /= 2;
	}
	if (measured_ns > data->next_timer_ns)
		measured_ns = data->next_timer_ns;

	factor -= factor / MENU_DECAY;
	if (data->next_timer_ns > 0 && measured_ns < MENU_INTERESTING_NS)
		factor += (u32)div64_u64(MENU_RESOLUTION * measured_ns, data->next_timer_ns);
	else
		factor += MENU_RESOLUTION;
	data->factor[data->bucket] = factor;

	menu_push_interval(data, (u32)div_u64(measured_ns, NSEC_PER_USEC));
	data->needs_update = false;
}

/* Ask for the next timer. A timer that is overdue counts as due now. */
static __always_inline void menu_ask_timer(struct menu_device *data, s64 *delta_tick_ns)
{
	s64 sleep_length_ns = tick_nohz_get_sleep_length(delta_tick_ns);

	if (sleep_length_ns < 0) {
		sleep_length_ns = 0;
		*delta_tick_ns = 0;
	}
	data->next_timer_ns = sleep_length_ns;
}

/*
 * Time to the next timer after correction, us. The product wraps for times
 * beyond 26 days, "never" among them, and the result keeps 32 bits: an odd
 * number then, but nearly always a large one.
 */
static __always_inline u32 menu_corrected_us(const struct menu_device *data)
{
	u64 product = data->next_timer_ns * data->factor[data->bucket];

	return (u32)div_u64(product + MENU_FACTOR_NS_TO_US / 2, MENU_FACTOR_NS_TO_US);
}

/*
 * Whether intervals with this mean and variance repeat well enough to predict
 * the next.
 */
static __always_inline bool menu_regular(u64 mean, u64 variance, u32 samples)
{
	if (variance > MENU_VARIANCE_MAX)
		return false;

	if (variance <= MENU_VARIANCE_SMALL)
		return true;

	return mean * mean > MENU_SIGMAS_SQUARED * variance &&
	       4 * samples >= 3 * MENU_INTERVALS;
}

/*
 * Whether state 0 is taken without looking further: no latency is allowed, or
 * state 1 does not fit before the timer or under the latency limit. The states
 * of index 0 and 1 count here even if they are disabled, except in one place.
 */
static __always_inline bool menu_take_first(const struct menu_device *data,
					    const struct cpuidle_driver *drv,
					    const struct cpuidle_device *dev, s64 latency_limit_ns)
{
	if (drv->state_count <= 1 || latency_limit_ns == 0)
		return true;

	return (data->next_timer_ns < (u64)drv->states[1].target_residency_ns ||
		latency_limit_ns < drv->states[1].exit_latency_ns) && !state_disabled(dev, 0);
}

/*
 * The last step: decide about the tick, and make the state fit in front of it
 * if it stays.
 */
static __always_inline int menu_finish(const struct cpuidle_driver *drv,
				       const struct cpuidle_device *dev, int idx,
				       u64 predicted_ns, s64 delta_tick_ns, bool stopped,
				       bool *stop_tick)
{
	if (idx < 0)
		idx = 0;

	if ((state_polls(drv, idx) || predicted_ns < (u64)TICK_NSEC) && !stopped) {
		*stop_tick = false;
		if (idx > 0 && drv->states[idx].target_residency_ns > delta_tick_ns)
			idx = shallower_state(drv, dev, idx, delta_tick_ns, false);
	}
	return idx;
}

#endif
