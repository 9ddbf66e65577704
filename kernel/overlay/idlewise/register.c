// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registering a governor whose name may be taken: the one that comes second is
 * called "iw-" and that name.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "../../cpuidle.h"
#include "idlewise.h"

/**
 * iw_register_governor - cpuidle_register_governor() under a free name
 * @gov: the governor; its name may change
 *
 * Return: what cpuidle_register_governor() says; -ENAMETOOLONG if the other
 * name does not fit.
 */
int __init iw_register_governor(struct cpuidle_governor *gov)
{
	char name[CPUIDLE_NAME_LEN];
	bool taken;

	mutex_lock(&cpuidle_lock);
	taken = cpuidle_find_governor(gov->name);
	mutex_unlock(&cpuidle_lock);

	if (taken) {
		if (snprintf(name, sizeof(name), "iw-%s", gov->name) >= sizeof(name)) {
			pr_err("idlewise: governor %s has no room for another name\n", gov->name);
			return -ENAMETOOLONG;
		}
		strscpy(gov->name, name, sizeof(gov->name));
	}
	return cpuidle_register_governor(gov);
}
