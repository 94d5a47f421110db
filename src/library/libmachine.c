/* SPDX-License-Identifier: MIT */
/*
 * D library files that no folder has: facts of the machine, as constants and inlines of D.
 *
 *     machine.d   __boot_time, __page_size, __tick      wall clock at boot, bytes, ns
 *                 __phys_pages                          pages of memory
 *     cpus.d      __cpu_chip[cpu], __cpu_node[cpu]      package and NUMA node of a CPU
 *                 __cpu_type, __cpu_mhz                 name of the processor, MHz
 *                 __cpu_type_word[I]                    its name, as words of memory
 *                 __ncpus, __ncpus_online               number of CPUs that there may be, are
 *     uts.d       __uts_sysname, __uts_nodename         what uname(2) says
 *                 __uts_release, __uts_version
 *     pidns.d     __task_tgid[T], __task_pid[T]         number of a task's process, of the task
 *                 __pid_number[P]                       number of a struct pid
 *                                                       (all in dtrace's own PID namespace)
 *     drivers.d   __block_driver[major]                 name of the driver of a block device
 *
 * The other files of the library use them. Each is made when a program needs it.
 */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vec.h"
#include "kernel/kernel.h"
#include "kernel/pidns.h"
#include "library/libmachine.h"

#define CPU_DIR	 "/sys/devices/system/cpu"
#define NODE_DIR "/sys/devices/system/node"
#define DEVICES	 "/proc/devices"
#define CPUINFO	 "/proc/cpuinfo"

/* ---- machine.d -------------------------------------------------------------------------- */

static int64_t clock_ns(clockid_t id, int (*get)(clockid_t, struct timespec *))
{
	struct timespec ts = {0};

	(void)get(id, &ts); /* cannot fail: these clocks always exist */
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void machine_make(struct strbuf *out)
{
	int64_t boot =
		clock_ns(CLOCK_REALTIME, clock_gettime) - clock_ns(CLOCK_BOOTTIME, clock_gettime);

	strbuf_addf(out, "inline uint64_t __boot_time = %lld;\n", (long long)boot);
	strbuf_addf(out, "inline uint64_t __page_size = %ld;\n", sysconf(_SC_PAGESIZE));
	strbuf_addf(out, "inline uint64_t __phys_pages = %ld;\n", sysconf(_SC_PHYS_PAGES));
	/* Linux kernel/time/posix-timers.c: the coarse clocks count ticks */
	strbuf_addf(out, "inline uint64_t __tick = %lld;\n",
		    (long long)clock_ns(CLOCK_MONOTONIC_COARSE, clock_getres));
}

/* ---- cpus.d ----------------------------------------------------------------------------- */

typedef VEC(int) int_vec;

static void int_vec_set(int_vec *v, uint32_t i, int val)
{
	while (v->len <= i)
		vec_push(v, 0);
	v->data[i] = val;
}

static bool line_read(const char *path, char *buf, int size)
{
	FILE *fp = fopen(path, "re");
	bool good = fp && fgets(buf, size, fp);

	if (fp)
		(void)fclose(fp); /* nothing was written */
	return good;
}

/* The N of a name <prefix>N; -1 for other names. */
static int name_number(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(name, prefix, len) != 0 || !isdigit((unsigned char)name[len]) ||
	    strlen(name + len) > 6)
		return -1;
	return name[len + strspn(name + len, "0123456789")] ? -1
							    : (int)strtol(name + len, NULL, 10);
}

/* Calls f for each DIR/<prefix>N whose file `leaf` can be read. */
static void numbered_each(const char *dir, const char *prefix, const char *leaf,
			  void (*f)(int_vec *v, int number, const char *line), int_vec *v)
{
	DIR *d = opendir(dir);
	struct dirent *ent;
	char path[512], line[4096];

	while (d && (ent = readdir(d))) {
		int n = name_number(ent->d_name, prefix);

		if (n < 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s%d/%s", dir, prefix, n, leaf);
		if (line_read(path, line, sizeof(line)))
			f(v, n, line);
	}
	if (d)
		(void)closedir(d); /* nothing was written */
}

static void chip_note(int_vec *v, int cpu, const char *line)
{
	int chip = (int)strtol(line, NULL, 10);

	int_vec_set(v, (uint32_t)cpu,
		    MAX(chip, 0)); /* -1: the firmware does not know the package */
}

#define MAX_CPUS 65536

/* line: a list of CPUs, "0-3,8-11" */
static void node_note(int_vec *v, int node, const char *line)
{
	while (isdigit((unsigned char)*line)) {
		char *end;
		long from = strtol(line, &end, 10),
		     to = *end == '-' ? strtol(end + 1, &end, 10) : from;

		for (long cpu = from; cpu <= to && cpu < MAX_CPUS; cpu++)
			int_vec_set(v, (uint32_t)cpu, node);
		line = *end == ',' ? end + 1 : end;
	}
}

/* Adds an expression such as "C < 4 ? 0 : C < 8 ? 1 : 0", with one range for equal neighbours. */
static void table_add(struct strbuf *out, const char *name, const int_vec *v)
{
	int last = v->len ? v->data[v->len - 1] : 0;

	strbuf_addf(out, "inline int %s[int C] = ", name);
	for (uint32_t i = 0; i < v->len; i++)
		if (i + 1 < v->len && v->data[i] != v->data[i + 1])
			strbuf_addf(out, "C < %u ? %d : ", i + 1, v->data[i]);
	strbuf_addf(out, "%d;\n", last);
}

/*
 * The clock rate of the first CPU, from its line "cpu MHz" of /proc/cpuinfo; 0 where there is no
 * such line: only x86 has it.
 */
static int cpu_mhz(void)
{
	FILE *fp = fopen(CPUINFO, "re");
	char line[256];
	int mhz = 0;

	while (fp && !mhz && fgets(line, sizeof(line), fp))
		if (strncmp(line, "cpu MHz", 7) == 0 && strchr(line, ':'))
			mhz = (int)strtol(strchr(line, ':') + 1, NULL, 10);
	if (fp)
		(void)fclose(fp); /* nothing was written */
	return mhz;
}

static void cpus_make(struct strbuf *out)
{
	int_vec chips = {0}, nodes = {0};
	struct utsname u;
	char type[16] = "";
	uint32_t words[4];

	numbered_each(CPU_DIR, "cpu", "topology/physical_package_id", chip_note, &chips);
	numbered_each(NODE_DIR, "node", "cpulist", node_note, &nodes);
	table_add(out, "__cpu_chip", &chips);
	table_add(out, "__cpu_node", &nodes);
	strbuf_addf(out, "inline int __ncpus = %" PRIu32 ";\n", MAX(cpus_possible(), 1u));
	strbuf_addf(out, "inline int __ncpus_online = %ld;\n", sysconf(_SC_NPROCESSORS_ONLN));
	(void)uname(&u); /* cannot fail */
	strbuf_addf(out, "inline string __cpu_type = \"%.15s\";\n", u.machine);
	(void)snprintf(type, sizeof(type), "%.15s", u.machine);
	memcpy(words, type, sizeof(words));
	strbuf_addf(
		out,
		"inline uint32_t __cpu_type_word[int I] = I == 0 ? 0x%x : I == 1 ? 0x%x : I == 2 ? 0x%x : 0x%x;\n",
		words[0], words[1], words[2], words[3]);
	strbuf_addf(out, "inline int __cpu_mhz = %d;\n", cpu_mhz());
	vec_deinit(&chips);
	vec_deinit(&nodes);
}

/* ---- uts.d ------------------------------------------------------------------------------ */

static void uts_add(struct strbuf *out, const char *name, const char *text)
{
	strbuf_addf(out, "inline string __uts_%s = ", name);
	escape_quote(out, text, strlen(text), &escapes_c);
	strbuf_adds(out, ";\n");
}

static void uts_make(struct strbuf *out)
{
	struct utsname u;

	(void)uname(&u); /* cannot fail */
	uts_add(out, "sysname", u.sysname);
	uts_add(out, "nodename", u.nodename);
	uts_add(out, "release", u.release);
	uts_add(out, "version", u.version);
}

/* ---- pidns.d ---------------------------------------------------------------------------- */

/*
 * Without the privilege to ask for our own namespace a program may be compiled, but not run: then
 * these definitions are not used.
 */
static void pidns_make(struct strbuf *out)
{
	struct rt_pidns ns;

	err_destroy(pidns_find(&ns));
	if (!ns.level) {
		strbuf_adds(
			out,
			"inline int __task_tgid[struct task_struct *T] = T->tgid;\n"
			"inline int __task_pid[struct task_struct *T] = T->pid;\n"
			"inline int __pid_number[struct pid *P] = P == NULL ? 0 : P->numbers[0].nr;\n");
		return;
	}
	strbuf_addf(
		out,
		"inline int __pid_number[struct pid *P] = P == NULL || P->level < %u ? 0 :\n"
		"	((struct upid *)P->numbers)[%u].ns != (struct pid_namespace *)0x%llx ? 0 :\n"
		"	((struct upid *)P->numbers)[%u].nr;\n",
		ns.level, ns.level, (unsigned long long)ns.ns, ns.level);
	strbuf_adds(
		out,
		"inline int __task_tgid[struct task_struct *T] = __pid_number[T->group_leader->thread_pid];\n"
		"inline int __task_pid[struct task_struct *T] = __pid_number[T->thread_pid];\n");
}

/* ---- drivers.d -------------------------------------------------------------------------- */

/* Reads the lines "  8 sd" behind "Block devices:". */
static void drivers_make(struct strbuf *out)
{
	FILE *fp = fopen(DEVICES, "re");
	bool is_block = false;
	char line[256], name[64];
	unsigned int major;

	strbuf_adds(out, "inline string __block_driver[int M] = ");
	while (fp && fgets(line, sizeof(line), fp)) {
		if (strncmp(line, "Block", 5) == 0)
			is_block = true;
		else if (is_block && sscanf(line, "%u %63[A-Za-z0-9_.-]", &major, name) == 2)
			strbuf_addf(out, "M == %u ? \"%s\" : ", major, name);
	}
	if (fp)
		(void)fclose(fp); /* nothing was written */
	strbuf_adds(out, "\"<unknown>\";\n");
}

/* clang-format off */
const struct libmachine libmachine_files[] = {
	{ "machine.d", { "__boot_time", "__page_size", "__phys_pages", "__tick" }, machine_make },
	{ "cpus.d",    { "__cpu_chip", "__cpu_node", "__ncpus", "__ncpus_online", "__cpu_type", "__cpu_type_word", "__cpu_mhz" },  cpus_make },
	{ "uts.d",     { "__uts_sysname", "__uts_nodename", "__uts_release", "__uts_version" }, uts_make },
	{ "pidns.d",   { "__task_tgid", "__task_pid", "__pid_number" }, pidns_make },
	{ "drivers.d", { "__block_driver" },                       drivers_make },
	{ NULL, { NULL }, NULL },
};
/* clang-format on */
