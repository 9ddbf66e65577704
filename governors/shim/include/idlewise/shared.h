/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What idlewise and the process of a foreign governor both see: one question
 * and one answer at a time. crates/governor/src/apart/shared.rs has the same
 * layout; the two are compared when a governor is loaded.
 */
#ifndef IDLEWISE_SHARED_H
#define IDLEWISE_SHARED_H

#include <linux/types.h>
#include <idlewise/abi.h>
#include <idlewise/env.h>

/* Where it is in the governor's process, and the most that it can be. */
#define IDLEWISE_AT		0x2000000000UL
#define IDLEWISE_ROOM		(4UL << 30)

/* Instructions of the filter of system calls. */
#define IDLEWISE_FILTER		64

/* What is asked. */
#define IDLEWISE_COPY		0	/* copy bytes: to, from, how many */
#define IDLEWISE_CALL		1	/* call a function: its address, two arguments */
#define IDLEWISE_ENABLE		2	/* driver, device */
#define IDLEWISE_REFLECT	3	/* device */
#define IDLEWISE_SELECT		4	/* driver, device */
#define IDLEWISE_REFLECT_SELECT	5	/* driver, device: the one, then the other */
#define IDLEWISE_RESTART	6	/* copy bytes, then run the initcalls */

/* What the process does. */
#define IDLEWISE_STAGE_HOST	0
#define IDLEWISE_STAGE_LOAD	1
#define IDLEWISE_STAGE_INIT	2
#define IDLEWISE_STAGE_ENABLE	3
#define IDLEWISE_STAGE_SELECT	4
#define IDLEWISE_STAGE_REFLECT	5

/**
 * struct idlewise_shared - the beginning of the memory that both see
 * @asked: number of the question; the process waits for the next one
 * @host_sleeps: idlewise waits in the kernel for @answered to change
 * @spins: looks for the next question before the process waits in the kernel
 * @question: which
 * @arg: its arguments
 * @in: what select may ask
 * @left_ns: the clock in reflect
 * @entered: the state that reflect is told
 * @answered: number of the question that was answered last
 * @sleeps: the process waits in the kernel for @asked to change
 * @stage: what it is doing
 * @log_used: bytes of messages
 * @result: what the function that was called returned
 * @stop_tick: select's second answer
 * @asked_sleep_length: select asked for the sleep length
 * @parent: process that asks
 * @error: why there is no filter: an errno; 0 if there is one
 * @nr_filter: how many instructions it has
 * @filter: instructions
 * @abi: where in the process everything is
 */
struct idlewise_shared {
	u32 asked;
	u32 host_sleeps;
	u32 spins;
	u32 question;
	u64 arg[3];
	struct idlewise_inputs in;
	u64 left_ns;
	s32 entered;
	u32 answered __aligned(64);
	u32 sleeps;
	u32 stage;
	u32 log_used;
	s64 result;
	u8 stop_tick;
	u8 asked_sleep_length;
	u32 parent __aligned(64);
	s32 error;
	u32 nr_filter;
	u64 filter[IDLEWISE_FILTER];
	struct idlewise_abi abi;
};

#endif
