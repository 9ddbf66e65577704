// SPDX-License-Identifier: GPL-2.0-only
/*
 * The user-space side of one governor: its environment, the registration, and
 * the table that the loader reads.
 *
 * Compiled and linked with each governor into a shared object of its own.
 * Everything is hidden but idlewise_abi, so two governors in one process never
 * see each other's symbols.
 */
#define IDLEWISE_HOST

#include <elf.h>
#include <link.h>
#include <stdarg.h>

#include <linux/cpuidle.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <idlewise/abi.h>
#include <idlewise/format.h>

struct idlewise_env idlewise_env ____cacheline_aligned;

static struct idlewise_log idlewise_log;

/*
 * The device is the first cache lines of what each CPU owns; it also makes the
 * section aligned and never empty.
 */
DEFINE_PER_CPU(struct cpuidle_device, idlewise_device) ____cacheline_aligned = { 0 };

#pragma GCC visibility push(hidden)
/*
 * Made by the linker for sections whose name is an identifier; weak, because a
 * governor may have no parameter.
 */
extern const char __start_idlewise_percpu[], __stop_idlewise_percpu[];
extern const initcall_t __start_idlewise_initcalls[] __attribute__((weak));
extern const initcall_t __stop_idlewise_initcalls[] __attribute__((weak));
extern const struct idlewise_param __start_idlewise_params[] __attribute__((weak));
extern const struct idlewise_param __stop_idlewise_params[] __attribute__((weak));
extern const struct idlewise_param_desc __start_idlewise_param_descs[] __attribute__((weak));
extern const struct idlewise_param_desc __stop_idlewise_param_descs[] __attribute__((weak));
/* Made by the linker where the ELF header is part of the loaded image. */
extern const ElfW(Ehdr) __ehdr_start;
#pragma GCC visibility pop

/**
 * cpuidle_register_governor - take a governor, as the cpuidle core does
 * @gov: the governor; the one with the highest rating is used if an object has
 *   several
 *
 * Return: 0, or -EINVAL if there is no select().
 */
int cpuidle_register_governor(struct cpuidle_governor *gov)
{
	if (!gov || !gov->select)
		return -EINVAL;

	if (!idlewise_env.governor || gov->rating > idlewise_env.governor->rating)
		idlewise_env.governor = gov;

	return 0;
}

/**
 * idlewise_printk - keep a message for the host
 * @fmt: as printf(), the level first
 *
 * Return: the length of the message.
 */
int idlewise_printk(const char *fmt, ...)
{
	char *to = idlewise_log.text + idlewise_log.used;
	va_list args;
	size_t room;
	int length;

	if (idlewise_log.used >= sizeof(idlewise_log.text))
		return 0;
	room = sizeof(idlewise_log.text) - idlewise_log.used;

	va_start(args, fmt);
	length = idlewise_format(to, room, fmt, args);
	va_end(args);
	if (length <= 0 || (size_t)length + 1 >= room)
		return length;

	if (to[length - 1] != '\n')
		to[length++] = '\n';
	idlewise_log.used += length;
	return length;
}

static int idlewise_init(void)
{
	const initcall_t *call;

	for (call = __start_idlewise_initcalls; call < __stop_idlewise_initcalls; call++) {
		int err = (*call)();

		if (err)
			return err;
	}
	return 0;
}

/*
 * The i-th program header if it is a writable segment, else NULL. There is no
 * RELRO: the link flags forbid it.
 */
static const ElfW(Phdr) *idlewise_writable(int i)
{
	const char *base = (const char *)&__ehdr_start;
	const ElfW(Phdr) *ph = (const ElfW(Phdr) *)(base + __ehdr_start.e_phoff) + i;

	return ph->p_type == PT_LOAD && (ph->p_flags & PF_W) ? ph : NULL;
}

static size_t idlewise_image_size(void)
{
	size_t size = 0;
	int i;

	for (i = 0; i < __ehdr_start.e_phnum; i++) {
		const ElfW(Phdr) *ph = idlewise_writable(i);

		size += ph ? ph->p_filesz : 0;
	}
	return size;
}

static void idlewise_save(void *image)
{
	char *base = (char *)&__ehdr_start;
	char *to = image;
	int i;

	for (i = 0; i < __ehdr_start.e_phnum; i++) {
		const ElfW(Phdr) *ph = idlewise_writable(i);

		if (!ph)
			continue;
		memcpy(to, base + ph->p_vaddr, ph->p_filesz);
		to += ph->p_filesz;
	}
}

static void idlewise_restore(const void *image)
{
	char *base = (char *)&__ehdr_start;
	const char *from = image;
	int i;

	for (i = 0; i < __ehdr_start.e_phnum; i++) {
		const ElfW(Phdr) *ph = idlewise_writable(i);

		if (!ph)
			continue;
		memcpy(base + ph->p_vaddr, from, ph->p_filesz);
		memset(base + ph->p_vaddr + ph->p_filesz, 0, ph->p_memsz - ph->p_filesz);
		from += ph->p_filesz;
	}
}

static size_t idlewise_memory_size(void)
{
	size_t size = 0;
	int i;

	for (i = 0; i < __ehdr_start.e_phnum; i++) {
		const ElfW(Phdr) *ph = idlewise_writable(i);

		size += ph ? ph->p_memsz : 0;
	}
	return size;
}

/* Clears the copy of a part if the part lies in the memory that was copied. */
static void idlewise_blank(char *copy, const char *from, size_t size, const void *part, size_t part_size)
{
	const char *start = part;

	if (start >= from && start + part_size <= from + size)
		memset(copy + (start - from), 0, part_size);
}

static void idlewise_copy_memory(void *copy)
{
	const char *base = (const char *)&__ehdr_start;
	char *to = copy;
	int i;

	for (i = 0; i < __ehdr_start.e_phnum; i++) {
		const ElfW(Phdr) *ph = idlewise_writable(i);
		const char *from;

		if (!ph)
			continue;
		from = base + ph->p_vaddr;
		memcpy(to, from, ph->p_memsz);
		idlewise_blank(to, from, ph->p_memsz, &idlewise_env, sizeof(idlewise_env));
		idlewise_blank(to, from, ph->p_memsz, &idlewise_log, sizeof(idlewise_log));
		to += ph->p_memsz;
	}
}

/* A function, because differences of addresses are no constants. */
__attribute__((visibility("default"))) void idlewise_abi(struct idlewise_abi *abi);

/**
 * idlewise_abi - fill in the table
 * @abi: where to; at least its first member must be there, the rest is written
 *   only if @abi->version matches
 */
void idlewise_abi(struct idlewise_abi *abi)
{
	static const u32 layout[IDLEWISE_ABI_LAYOUT] = {
		sizeof(struct idlewise_abi),
		sizeof(struct idlewise_env),
		offsetof(struct idlewise_env, in.latency_limit_ns),
		offsetof(struct idlewise_env, in.random),
		offsetof(struct idlewise_env, in.tick_stopped),
		offsetof(struct idlewise_env, device),
		offsetof(struct idlewise_env, tick_nsec),
		offsetof(struct idlewise_env, stop_tick),
		sizeof(struct cpuidle_device),
		offsetof(struct cpuidle_device, poll_limit_ns),
		offsetof(struct cpuidle_device, poll_time_limit),
		offsetof(struct cpuidle_device, got_tick),
		offsetof(struct cpuidle_device, last_state_idx),
		offsetof(struct cpuidle_device, states_usage),
		offsetof(struct cpuidle_device, cpu),
		offsetof(struct cpuidle_device, capacity),
		sizeof(struct cpuidle_driver),
		offsetof(struct cpuidle_driver, states),
		sizeof(struct cpuidle_state),
		offsetof(struct cpuidle_state, flags),
		sizeof(struct cpuidle_governor),
		offsetof(struct cpuidle_governor, select),
		sizeof(struct idlewise_param),
		sizeof(struct idlewise_log),
	};
	bool match = abi->version == IDLEWISE_ABI_VERSION;

	abi->version = IDLEWISE_ABI_VERSION;
	if (!match)
		return;

	memcpy(abi->layout, layout, sizeof(layout));
	abi->env = &idlewise_env;
	abi->percpu = __start_idlewise_percpu;
	abi->percpu_size = __stop_idlewise_percpu - __start_idlewise_percpu;
	abi->device = &idlewise_device;
	abi->params = __start_idlewise_params;
	abi->nr_params = __stop_idlewise_params - __start_idlewise_params;
	abi->descs = __start_idlewise_param_descs;
	abi->nr_descs = __stop_idlewise_param_descs - __start_idlewise_param_descs;
	abi->log = &idlewise_log;
	abi->image_size = idlewise_image_size;
	abi->save = idlewise_save;
	abi->restore = idlewise_restore;
	abi->memory_size = idlewise_memory_size;
	abi->copy_memory = idlewise_copy_memory;
	abi->init = idlewise_init;
}
