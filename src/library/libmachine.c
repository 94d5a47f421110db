/*
 * D library files that no folder has: what this machine is, as constants and inlines of D.
 *
 *     machine.d   __boot_time, __page_size, __tick      wall clock at boot, bytes, ns
 *     cpus.d      __cpu_chip[cpu], __cpu_node[cpu]      package and NUMA node of a CPU
 *                 __ncpus                               CPUs there may be
 *     pidns.d     __task_tgid[T], __task_pid[T]         number of a task's process, of the task
 *                 __pid_number[P]                       number of a struct pid; all in dtrace's PID
 *                 namespace
 *     drivers.d   __block_driver[major]                 name of the driver of a block device
 *
 * The rest of the library is built on them. They are made when a program needs one.
 */
#include <bpf/libbpf.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "kernel/pidns.h"
#include "library/libmachine.h"

#define CPU_DIR	 "/sys/devices/system/cpu"
#define NODE_DIR "/sys/devices/system/node"
#define DEVICES	 "/proc/devices"

/* ---- machine.d -------------------------------------------------------------------------- */

static int64_t clock_ns(clockid_t id, int (*get)(clockid_t, struct timespec *))
{
	struct timespec ts = {0};

	(void)get(id, &ts); /* these clocks always exist */
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void make_machine(struct strbuf *out)
{
	int64_t boot =
		clock_ns(CLOCK_REALTIME, clock_gettime) - clock_ns(CLOCK_BOOTTIME, clock_gettime);

	strbuf_addf(out, "inline uint64_t __boot_time = %lld;\n", (long long)boot);
	strbuf_addf(out, "inline uint64_t __page_size = %ld;\n", sysconf(_SC_PAGESIZE));
	/* Linux kernel/time/posix-timers.c: the coarse clocks count ticks */
	strbuf_addf(out, "inline uint64_t __tick = %lld;\n",
		    (long long)clock_ns(CLOCK_MONOTONIC_COARSE, clock_getres));
}

/* ---- cpus.d ----------------------------------------------------------------------------- */

typedef VEC(int) int_vec;

static void set_at(int_vec *v, uint32_t i, int val)
{
	while (v->len <= i)
		vec_push(v, 0);
	v->data[i] = val;
}

static bool read_line(const char *path, char *buf, int size)
{
	FILE *fp = fopen(path, "re");
	bool good = fp && fgets(buf, size, fp);

	if (fp)
		(void)fclose(fp); /* only read */
	return good;
}

/* DIR/<prefix>N: N; -1 when the name is of another kind. */
static int number_behind(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(name, prefix, len) != 0 || !isdigit((unsigned char)name[len]) ||
	    strlen(name + len) > 6)
		return -1;
	return name[len + strspn(name + len, "0123456789")] ? -1
							    : (int)strtol(name + len, NULL, 10);
}

/* Calls f for each DIR/<prefix>N whose file `leaf` can be read. */
static void each_numbered(const char *dir, const char *prefix, const char *leaf,
			  void (*f)(int_vec *v, int number, const char *line), int_vec *v)
{
	DIR *d = opendir(dir);
	struct dirent *ent;
	char path[512], line[4096];

	while (d && (ent = readdir(d))) {
		int n = number_behind(ent->d_name, prefix);

		if (n < 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s%d/%s", dir, prefix, n, leaf);
		if (read_line(path, line, sizeof(line)))
			f(v, n, line);
	}
	if (d)
		(void)closedir(d); /* only read */
}

static void note_chip(int_vec *v, int cpu, const char *line)
{
	int chip = (int)strtol(line, NULL, 10);

	set_at(v, (uint32_t)cpu, MAX(chip, 0)); /* -1: the firmware does not say */
}

#define MAX_CPUS 65536

/* line: "0-3,8-11" */
static void note_node(int_vec *v, int node, const char *line)
{
	while (isdigit((unsigned char)*line)) {
		char *end;
		long from = strtol(line, &end, 10),
		     to = *end == '-' ? strtol(end + 1, &end, 10) : from;

		for (long cpu = from; cpu <= to && cpu < MAX_CPUS; cpu++)
			set_at(v, (uint32_t)cpu, node);
		line = *end == ',' ? end + 1 : end;
	}
}

/* "C < 4 ? 0 : C < 8 ? 1 : 0": equal neighbours are one range. */
static void add_table(struct strbuf *out, const char *name, const int_vec *v)
{
	int last = v->len ? v->data[v->len - 1] : 0;

	strbuf_addf(out, "inline int %s[int C] = ", name);
	for (uint32_t i = 0; i < v->len; i++)
		if (i + 1 < v->len && v->data[i] != v->data[i + 1])
			strbuf_addf(out, "C < %u ? %d : ", i + 1, v->data[i]);
	strbuf_addf(out, "%d;\n", last);
}

static void make_cpus(struct strbuf *out)
{
	int_vec chips = {0}, nodes = {0};

	each_numbered(CPU_DIR, "cpu", "topology/physical_package_id", note_chip, &chips);
	each_numbered(NODE_DIR, "node", "cpulist", note_node, &nodes);
	add_table(out, "__cpu_chip", &chips);
	add_table(out, "__cpu_node", &nodes);
	strbuf_addf(out, "inline int __ncpus = %d;\n", MAX(libbpf_num_possible_cpus(), 1));
	vec_deinit(&chips);
	vec_deinit(&nodes);
}

/* ---- pidns.d ---------------------------------------------------------------------------- */

/*
 * A program may be compiled without the right to ask for our namespace: then nothing of this runs.
 */
static void make_pidns(struct strbuf *out)
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

/* Lines "  8 sd" behind "Block devices:". */
static void make_drivers(struct strbuf *out)
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
		(void)fclose(fp); /* only read */
	strbuf_adds(out, "\"<unknown>\";\n");
}

/* clang-format off */
const struct libmachine libmachine_files[] = {
	{ "machine.d", { "__boot_time", "__page_size", "__tick" }, make_machine },
	{ "cpus.d",    { "__cpu_chip", "__cpu_node", "__ncpus" },  make_cpus },
	{ "pidns.d",   { "__task_tgid", "__task_pid", "__pid_number" }, make_pidns },
	{ "drivers.d", { "__block_driver" },                       make_drivers },
	{ NULL, { NULL }, NULL },
};
/* clang-format on */
