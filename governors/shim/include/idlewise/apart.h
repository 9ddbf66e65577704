/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IDLEWISE_APART_H
#define IDLEWISE_APART_H

#include <linux/types.h>

/* Whose turn it is, and whether the other one sleeps until then. */
#define IDLEWISE_HOSTS		0
#define IDLEWISE_GOVERNORS	1
#define IDLEWISE_SLEEPS		2

/**
 * struct idlewise_control - what the host and a governor's process share, and
 *   how they call each other
 * @turn: one of the above; the other one waits
 * @spins: how often the process looks for its turn before it sleeps
 * @function: what is called
 * @argument: with these
 * @result: what it gave
 * @may_ask: whether it may ask for the sleep length, which it does once
 * @asks: that is why it is the host's turn
 * @nr_kept: parts of memory that the process keeps
 * @kept: their first byte and the one behind, from low to high
 */
struct idlewise_control {
	u32 turn;
	u32 spins;
	unsigned long function;
	unsigned long argument[3];
	unsigned long result;
	u32 may_ask;
	u32 asks;
	unsigned long nr_kept;
	unsigned long kept[4][2];
};

#endif
