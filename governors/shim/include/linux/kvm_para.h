/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KVM_PARA_H
#define _LINUX_KVM_PARA_H

#include <linux/types.h>

/* So that a governor for guests registers; the host decides which machine this is. */
static inline bool kvm_para_available(void)
{
	return true;
}

static inline bool kvm_para_has_hint(unsigned int hint)
{
	(void)hint;
	return true;
}

#endif
