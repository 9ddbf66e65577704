/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PELT's sums and averages, and the clocks that they are kept on: what pelt.c
 * does, in terms of the caller's memory. pelt-rq.h has the layer above it, tasks
 * on run queues.
 */
#ifndef SIGNALS_PELT_H
#define SIGNALS_PELT_H

#include <linux/types.h>

/* Full scale of capacities, of frequencies and of utilisations. */
#define PELT_SCALE		1024

/* Units of a period; a unit is PELT_SCALE ns. */
#define PELT_PERIOD		1024

/* Periods that a sum halves in, unless half_life is shorter. */
#define PELT_HALF_LIFE		32

/**
 * enum pelt_half_life - how fast history fades
 * @PELT_32MS: by half in 32 periods of 1.048576 ms
 * @PELT_16MS: in 16
 * @PELT_8MS: in 8
 */
enum pelt_half_life {
	PELT_32MS,
	PELT_16MS,
	PELT_8MS,
};

/**
 * enum pelt_est - how a task's utilisation is remembered while it sleeps
 * @PELT_EST_NONE: it is not (before 4.17)
 * @PELT_EST_TWO: the last one and a moving average of all
 * @PELT_EST_TWO_UP: the same, and the average follows a larger one at once (5.5)
 * @PELT_EST_ONE: the moving average alone (6.8)
 */
enum pelt_est {
	PELT_EST_NONE,
	PELT_EST_TWO,
	PELT_EST_TWO_UP,
	PELT_EST_ONE,
};

/**
 * struct pelt_config - which kernel's PELT this is
 * @sum_max: what the sum of an always running task converges to
 * @half_life: enum pelt_half_life, a table of the compiler's time
 * @est: enum pelt_est
 * @est_flag: bit of an estimate that says it was stored and not renewed since
 * @clock_shift: the averages' clock runs 1 << this times as fast, 0 to 2
 * @keep_remainder: time short of a unit is kept for the next update (4.13)
 * @moving_divider: averages are shares of the time that the sums cover (4.13),
 *   not of @sum_max
 * @old_steps: whole periods are added from a table after all was decayed, as
 *   until 4.12; with PELT_32MS only
 * @scale_clock: a slow clock and a small CPU stretch time (5.1); before, they
 *   made what is added less
 * @runnable: keep the average of running and waiting (5.7)
 * @est_first: a task's estimate is renewed before its average is, when it goes
 *   to sleep (6.12)
 * @limits_apart: limits of the frequency are told beside the utilisation (6.8)
 */
struct pelt_config {
	u32 sum_max;
	u32 half_life;
	u32 est;
	u32 est_flag;
	u32 clock_shift;
	bool keep_remainder;
	bool moving_divider;
	bool old_steps;
	bool scale_clock;
	bool runnable;
	bool est_first;
	bool limits_apart;
};

/**
 * struct pelt_speed - of a CPU
 * @capacity: at its highest frequency, 1 to PELT_SCALE
 * @freq: frequency, PELT_SCALE for the highest
 */
struct pelt_speed {
	u32 capacity;
	u32 freq;
};

/**
 * struct pelt_avg - sums that decay, and the averages last published from them
 * @last_ns: up to when the sums are kept
 * @load_sum: of the time that load was there, times the load
 * @runnable_sum: of the time running or waiting, times PELT_SCALE
 * @load: @load_sum as an average, times the weight
 * @runnable: @runnable_sum as an average
 * @util: @util_sum as an average, 0 to PELT_SCALE
 * @util_sum: of the time running, times PELT_SCALE
 * @frac: units of the open period that have passed, below PELT_PERIOD
 */
struct pelt_avg {
	u64 last_ns;
	u64 load_sum;
	u64 runnable_sum;
	u64 load;
	u64 runnable;
	u64 util;
	u32 util_sum;
	u32 frac;
};

/**
 * struct pelt_clock - the times that a run queue's averages are kept on
 * @wall_ns: all time
 * @task_ns: without interrupts and the time that a hypervisor took
 * @fast_ns: the same, as much faster as clock_shift has it
 * @pelt_ns: the same, slower while a slow CPU runs
 * @lost_ns: what running slowly took from idling for good
 * @idle_wall_ns: @wall_ns when the CPU last was seen idle
 * @idle_now_ns: the averages' time then
 */
struct pelt_clock {
	u64 wall_ns;
	u64 task_ns;
	u64 fast_ns;
	u64 pelt_ns;
	u64 lost_ns;
	u64 idle_wall_ns;
	u64 idle_now_ns;
};

int pelt_config_kernel(struct pelt_config *config, u32 major, u32 minor);
void pelt_config_half_life(struct pelt_config *config, enum pelt_half_life half_life);
int pelt_config_check(const struct pelt_config *config);

u64 pelt_decay(const struct pelt_config *config, u64 sum, u64 periods);
u32 pelt_divider(const struct pelt_config *config, const struct pelt_avg *avg);
bool pelt_update(const struct pelt_config *config, const struct pelt_speed *speed,
		 struct pelt_avg *avg, u64 now_ns, u64 load, u64 runnable, bool running);
void pelt_publish(const struct pelt_config *config, struct pelt_avg *avg, u64 weight);
bool pelt_faded(const struct pelt_avg *avg);

u64 pelt_scale_time(const struct pelt_speed *speed, u64 ns);
u64 pelt_clock_pass(const struct pelt_config *config, const struct pelt_speed *speed,
		    struct pelt_clock *clock, u64 now_ns, u64 irq_ns, u64 steal_ns, bool idle);
void pelt_clock_idle(const struct pelt_config *config, struct pelt_clock *clock, u64 util_sums);
u64 pelt_clock_now(const struct pelt_clock *clock);
u64 pelt_clock_guess(const struct pelt_config *config, const struct pelt_clock *clock, u64 wall_ns);

#endif
