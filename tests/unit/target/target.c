/* SPDX-License-Identifier: MIT */
/* Each kind of target is asked the same: a process, the same one held, and its core file. */
#include "core_file.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct gate *gate;
static char core_path[] = "/tmp/unit_target.XXXXXX";

static bool has_thread(const target_tids *tids, pid_t tid)
{
	for (uint32_t i = 0; i < tids->len; i++)
		if (tids->data[i] == tid)
			return true;
	return false;
}

/* What all kinds answer. */
static void test_common(const char *kind, struct target *t, pid_t pid)
{
	const struct proc_map *code = proc_maps_find(target_maps(t), (taddr)(uintptr_t)&wait_here),
			      *program = target_program(t);
	CLEANUP(gate_file) struct gate_file *f = code ? target_open_map(t, code) : NULL;
	struct target_aux aux;
	struct proc_maps now;
	struct err *e = target_aux(t, &aux);
	uint64_t value = 0, two[2];
	target_tids tids = {0};
	taddr end;

	ok(target_pid(t) == pid && target_gate(t) == gate, "%s: the process and the gate", kind);
	ok(code && code->is_exec && proc_map_has_file(code) && f, "%s: the file of code", kind);
	ok(program && code && proc_map_is_same_file(program, code) && program->off == 0,
	   "%s: the program", kind);
	ok(!e && aux.is_written && !aux.is_narrow && aux.entry && aux.base && aux.vdso &&
		   proc_maps_find(target_maps(t), aux.entry) &&
		   target_file_at(t, aux.entry) == program,
	   "%s: the auxiliary vector", kind);
	err_destroy(e);
	ok(proc_maps_find(target_maps(t), aux.vdso) &&
		   !strcmp(proc_maps_find(target_maps(t), aux.vdso)->path, "[vdso]"),
	   "%s: the vDSO has its name", kind);
	ok(target_read(t, (taddr)(uintptr_t)&marker, &value, sizeof(value)) && value == MARKER,
	   "%s: memory that was written", kind);
	ok(code && target_read(t, (taddr)(uintptr_t)&wait_here, two, sizeof(two)) &&
		   !memcmp(two, (const void *)(uintptr_t)&wait_here, sizeof(two)),
	   "%s: code", kind);
	end = program ? program->end : 0;
	ok(target_read(t, end - 8, two, sizeof(two)), "%s: over the end of a mapping", kind);
	ok(!target_read(t, 16, &value, 8), "%s: no memory", kind);
	e = target_maps_now(t, &now);
	ok(!e && now.maps.len == target_maps(t)->maps.len, "%s: the mappings now", kind);
	proc_maps_deinit(&now);
	err_destroy(target_refresh(t));
	ok(proc_maps_find(target_maps(t), aux.entry), "%s: and read again", kind);
	target_threads(t, &tids);
	ok(tids.len == 1 + WAITERS && tids.data[0] == pid, "%s: all threads", kind);
	vec_deinit(&tids);
}

static void test_regs(const char *kind, struct target *t, struct target *same)
{
	target_tids tids = {0}, others = {0};
	bool good = true, equal = true;
	struct target_who who;

	target_threads(t, &tids);
	target_threads(same, &others);
	for (uint32_t i = 0; i < tids.len; i++) {
		struct arch_regs regs = {0}, there = {0};
		struct err *e = target_regs(t, tids.data[i], &regs);

		good &= !e && regs.thread_pointer && target_who(t, tids.data[i], &who) &&
			who.tid == tids.data[i] && who.pid == target_pid(t) &&
			has_thread(&others, who.tid);
		err_destroy(e);
		e = target_regs(same, tids.data[i], &there);
		equal &= !e && !memcmp(&regs, &there, sizeof(regs));
		err_destroy(e);
	}
	ok(good, "%s: registers and names of threads", kind);
	ok(equal, "%s: those of the process", kind);
	ok(!target_who(t, 1, &who), "%s: a thread of another process", kind);
	vec_deinit(&tids);
	vec_deinit(&others);
}

static struct target *core_open(const char *path)
{
	struct target *t = NULL;
	struct err *e = target_core_open(path, gate, &t);

	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	return t;
}

static void test_core(struct target *held)
{
	siginfo_t si = {.si_signo = SIGSEGV, .si_code = SEGV_MAPERR}, got = {0};
	struct target_who who;
	struct target *t;

	ok(core_write(held, core_path, &si), "a core file");
	t = core_open(core_path);
	if (!ok(t != NULL, "it is opened"))
		return;
	test_common("a core file", t, target_pid(held));
	test_regs("a core file", t, held);
	ok(target_proc(t) == 0, "it is no process");
	ok(target_signal(t, &got) && got.si_signo == SIGSEGV && got.si_code == SEGV_MAPERR,
	   "its signal");
	ok(target_who(t, target_pid(held), &who) && who.uid == 7 && who.gid == 8 &&
		   !strcmp(who.name, "waiters") && !strcmp(who.args, "waiters and more"),
	   "who it was");
	target_close(t);
	ok(core_write(held, core_path, NULL), "a core file without a signal");
	t = core_open(core_path);
	ok(t && !target_signal(t, &got), "it has none");
	target_close(t);
}

/* ---- pages that were touched ----------------------------------------------------------------- */

static void test_touched(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 20000 * page;
	char *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	taddr start = (taddr)(uintptr_t)mem, end = start + size;
	struct target *t = NULL;
	struct err *e;

	(void)madvise(mem, size, MADV_NOHUGEPAGE);
	mem[3 * page] = 1;
	mem[15000 * page + 7] = 1;
	e = target_live_open(getpid(), gate, &t);
	if (!ok(!e, "this process"))
		return;
	ok(target_touched(t, start, end) == start + 3 * page, "the first page that was touched");
	ok(target_touched(t, start + 3 * page + 8, end) == start + 3 * page + 8,
	   "an address in it");
	ok(target_touched(t, start + 4 * page, end) == start + 15000 * page, "one far behind it");
	ok(target_touched(t, start + 4 * page, start + 9 * page) == start + 9 * page,
	   "none before the end");
	ok(target_touched(t, start + 15001 * page, end) == end, "none");
	ok(target_touched(t, end, end) == end, "nothing is asked for");
	target_close(t);
	(void)munmap(mem, size);
}

/* ---- files that are damaged ------------------------------------------------------------------ */

static bool file_write(const char *path, const char *bytes, size_t size)
{
	CLEANUP(file) FILE *f = fopen(path, "we");

	return f && fwrite(bytes, 1, size, f) == size;
}

/* Whatever there is is opened and asked, or refused with a message. */
static bool is_borne(void)
{
	struct target *t = NULL;
	struct err *e = target_core_open(core_path, gate, &t);
	struct arch_regs regs;
	target_tids tids = {0};
	bool good = e || t;
	char bytes[64];

	for (uint32_t i = 0; t && i < target_maps(t)->maps.len; i++)
		(void)target_read(t, target_maps(t)->maps.data[i].start, bytes, sizeof(bytes));
	if (t) {
		target_threads(t, &tids);
		good &= tids.len > 0 && target_maps(t)->maps.len > 0;
		for (uint32_t i = 0; i < tids.len; i++)
			err_destroy(target_regs(t, tids.data[i], &regs));
		vec_deinit(&tids);
		(void)target_program(t);
	}
	good &= !e || err_text(e)[0] != '\0';
	err_destroy(e);
	target_close(t);
	return good;
}

static void test_damaged(void)
{
	CLEANUP(file) FILE *f = fopen(core_path, "re");
	CLEANUP(free) char *bytes = xmalloc(1 << 16), *copy = xmalloc(1 << 16);
	size_t size = f ? fread(bytes, 1, 1 << 16, f) : 0;
	uint32_t seed = 1, nbad = 0;

	for (size_t n = 0; n < size; n += n < 4096 ? 61 : 997)
		nbad += !file_write(core_path, bytes, n) || !is_borne();
	is_int(nbad, 0, "files that are cut");
	for (int i = 0; i < 300; i++) {
		memcpy(copy, bytes, size);
		for (int k = 0; k < 4; k++) {
			seed = seed * 1103515245 + 12345;
			copy[(seed >> 8) % MIN(size, (size_t)12000)] = (char)(seed >> 3);
		}
		nbad += !file_write(core_path, copy, size) || !is_borne();
	}
	is_int(nbad, 0, "files with other bytes");
}

/* Makes a copy of cat(1) and executes it; it waits for the end of its input, which is *ret_in. */
static pid_t deleted_run(int *ret_in)
{
	char path[] = "/tmp/unit_target_cat.XXXXXX", c;
	int fd = mkstemp(path), in[2], out[2];
	CLEANUP(fd) int cat = open("/bin/cat", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	while (fd >= 0 && cat >= 0 && sendfile(fd, cat, NULL, 1 << 20) > 0)
		;
	if (fd < 0 || fchmod(fd, 0700) != 0 || close(fd) != 0 || pipe2(in, O_CLOEXEC) != 0 ||
	    pipe2(out, O_CLOEXEC) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		(void)dup2(in[0], 0);
		(void)dup2(out[1], 1);
		(void)execl(path, "cat", (char *)NULL);
		_exit(127);
	}
	/* It answers, so it has been executed. */
	ok(write(in[1], "x", 1) == 1 && close(out[1]) == 0 && read(out[0], &c, 1) == 1 &&
		   unlink(path) == 0,
	   "a program is executed and deleted");
	(void)close(out[0]);
	(void)close(in[0]);
	*ret_in = in[1];
	return pid;
}

static void test_deleted(void)
{
	int in = -1, status = -1;
	pid_t pid = deleted_run(&in);
	struct target *t = NULL;
	struct err *e = target_live_open(pid, gate, &t);
	const struct proc_map *program = e ? NULL : target_program(t);
	CLEANUP(gate_file) struct gate_file *f = program ? target_open_map(t, program) : NULL;

	ok(program && !strncmp(program->path, "/tmp/unit_target_cat.", 21) && f,
	   "its program is found and opened");
	err_destroy(e);
	target_close(t);
	(void)close(in);
	ok(waitpid(pid, &status, 0) == pid && status == 0, "and it ends as if nobody had looked");
}

static void test_refused(void)
{
	struct target *t = NULL;
	struct err *e = target_core_open("/", gate, &t);

	ok(e && strstr(err_text(e), "'/' is no core file"), "a folder is none");
	err_destroy(e);
	e = target_core_open("/proc/self/exe", gate, &t);
	ok(e && strstr(err_text(e), "is no core file"), "a program is none");
	err_destroy(e);
	e = target_core_open("/nonexistent/core", gate, &t);
	ok(err_get_sys(e) == ENOENT, "no file");
	err_destroy(e);
	e = target_hold(999999999, gate, &t);
	ok(e && !strcmp(err_text(e), "there is no process or thread 999999999"), "no process");
	err_destroy(e);
	e = target_live_open(999999999, gate, &t);
	ok(err_get_sys(e) == ESRCH && !t, "no process that runs");
	err_destroy(e);
}

int main(void)
{
	pid_t pid = waiters_start();
	struct target *live = NULL, *held = NULL;
	struct arch_regs regs;
	struct err *e;
	int fd = mkstemp(core_path);

	gate = gate_create();
	e = target_live_open(pid, gate, &live);
	if (!ok(fd >= 0 && !e, "a process with threads"))
		return tap_done();
	test_common("a process", live, pid);
	ok(target_proc(live) == pid, "a process is one");
	test_touched();
	e = target_regs(live, pid, &regs);
	ok(e != NULL, "it runs, and has no registers");
	err_destroy(e);
	e = target_hold(pid, gate, &held);
	if (ok(!e, "it is held")) {
		test_common("a held process", held, pid);
		test_regs("a held process", held, held);
		test_core(held);
		test_damaged();
	}
	err_destroy(e);
	target_close(held);
	target_close(live);
	test_deleted();
	test_refused();
	waiters_end(pid);
	(void)unlink(core_path);
	(void)close(fd);
	gate_destroy(gate);
	return tap_done();
}
