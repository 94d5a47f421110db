/* SPDX-License-Identifier: MIT */
/* The slots of relays in a process: it maps a file of its own, and keeps no descriptor of it. */
#include "tap.h"

#ifdef __x86_64__

#include <dirent.h>

#include "arch/stub.h"
#include "files/gate.h"
#include "patch/patch_impl.h"
#include "patch/victim.h"

#define SLOTS 1000u

static struct gate *gate;

static uint32_t files_count(pid_t pid)
{
	char path[64];
	uint32_t n = 0;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		(void)closedir(d);
	return n;
}

/* The line of /proc/PID/maps that begins at an address. */
static const char *map_line(pid_t pid, taddr at)
{
	static char line[512];
	char path[64], begin[32];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	(void)snprintf(begin, sizeof(begin), "%llx-", (unsigned long long)at);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, begin, strlen(begin)) == 0) {
			(void)fclose(f);
			return line;
		}
	if (f)
		(void)fclose(f);
	return "";
}

static struct patch *relays_open(pid_t pid)
{
	struct patch_opts o = victim_opts(gate, NULL);
	struct patch *p = NULL;
	struct err *e;

	o.slots = SLOTS;
	e = patch_open(pid, &o, &p);
	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	return p;
}

static void test_slots(void)
{
	pid_t pid = victim_start(victim_run);
	uint8_t code[SLOTS * STUB_SLOT_SIZE], seen[sizeof(code)];
	uint32_t before, after;
	struct patch *p;
	struct err *e;
	int fd;

	(void)await(&shared->is_ready, 1);
	before = files_count(pid);
	p = relays_open(pid);
	after = files_count(pid);
	ok(p && !patch_relays_lack(p), "there are relays");
	is_int(after, before, "the process keeps no descriptor");
	ok(strstr(map_line(pid, patch_relays_addr(p)), " r-xp ") != NULL,
	   "the file is mapped privately, and may be executed");
	ok(patch_relays_addr(p) - patch_code_addr(p) < 1u << 30, "near the stubs");
	for (uint32_t i = 0; i < sizeof(code); i++)
		code[i] = (uint8_t)(i * 7);
	e = patch_relays_write(p, code, sizeof(code));
	ok(!e, "slots are written");
	err_destroy(e);
	fd = process_memory_open(pid);
	ok(pread(fd, seen, sizeof(seen), (off_t)patch_relays_addr(p)) == (ssize_t)sizeof(seen) &&
		   memcmp(seen, code, sizeof(code)) == 0,
	   "and are there");
	(void)close(fd);
	patch_close(p);
	ok(calls_await(500), "the process runs on");
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* No descriptor is left for the file. */
static void full_run(void)
{
	const struct rlimit none = {3, 3};

	(void)setrlimit(RLIMIT_NOFILE, &none);
	while (dup(0) >= 0)
		;
	victim_run();
}

static void test_refused(void)
{
	pid_t pid = victim_start(full_run);
	struct patch *p;

	(void)await(&shared->is_ready, 1);
	p = relays_open(pid);
	ok(p != NULL, "a process without descriptors can be entered");
	is_str(p && patch_relays_lack(p) ? patch_relays_lack(p) : "",
	       "the process may make no file of code in memory: Too many open files",
	       "but gets no relays");
	patch_close(p);
	ok(calls_await(500), "the process runs on");
	is_int(victim_end(pid), 0, "no result was wrong");
}

int main(void)
{
	if (geteuid() != 0) {
		printf("1..0 # SKIP it takes root to change a process\n");
		return 0;
	}
	gate = gate_create();
	test_slots();
	test_refused();
	gate_destroy(gate);
	return tap_done();
}

#else

int main(void)
{
	printf("1..0 # SKIP windows are made for x86-64 only\n");
	return 0;
}

#endif
