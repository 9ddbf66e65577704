// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the basic blocks that a governor executes: what its decisions cost, the
 * same in every run. Linked to a copy that is compiled with
 * -fsanitize-coverage=trace-pc, whose calls it takes; the count is a parameter.
 */
#include <linux/moduleparam.h>

static ulong idlewise_blocks;
module_param(idlewise_blocks, ulong, 0444);
MODULE_PARM_DESC(idlewise_blocks, "basic blocks executed so far");

/* What -fsanitize-coverage=trace-pc calls. The name is the compiler's. */
#pragma GCC visibility push(hidden)
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	idlewise_blocks++;
}
#pragma GCC visibility pop
