/* SPDX-License-Identifier: MIT */
/*
 * Walks user stacks with the host's walker (src/unwind/walk.h).
 *
 *     hostwalk stopped PID [TID]   of a process that stops itself: waits until it has, prints the
 *                                  address of each frame, and "cut" where frames are missing
 *     hostwalk steps PROGRAM ...   runs the program instruction by instruction, from its first
 *                                  call of kill(0, 0) to its second, and walks the stack at each;
 *                                  every stack must end with the same three frames
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/target.h"
#include "unwind/walk.h"
#include "image/debugfile.h"
#include "files/gate.h"
#include "image/image.h"

#define FRAMES_MAX 200
#define TRIES	   10000 /* of a millisecond */
#define OUTER	   3	 /* frames that call main() */
#define SHOWN	   5

static const struct file_opts *files_default(void)
{
	static struct file_opts files = {DEBUG_DIRS_DEFAULT, GATE_LIMIT_DEFAULT, NULL, NULL};

	if (!files.gate) {
		files.gate = gate_create();
		files.images = image_set_create();
	}
	return &files;
}

static int give_up(const char *what)
{
	fprintf(stderr, "hostwalk: %s: %s\n", what, strerror(errno));
	return 1;
}

static int error_show(struct err *e)
{
	fprintf(stderr, "hostwalk: %s\n", err_text(e));
	return 1;
}

static bool has_stopped(const char *pid)
{
	CLEANUP(file) FILE *f = NULL;
	char path[64], line[512];
	const char *end;

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f))
		return false;
	end = strrchr(line, ')');
	return end && strncmp(end, ") T", 3) == 0; /* not "t", which a debugger has stopped */
}

static struct err *thread_walk(struct target *t, struct walk_target *w, pid_t tid,
			       struct walk_stack *ret)
{
	struct walk_space space = walk_target_space(w);
	struct arch_regs regs;
	struct err *e = target_regs(t, tid, &regs);

	if (!e)
		stack_walk(&space, &regs, FRAMES_MAX, ret);
	return e;
}

static void stack_show(const struct walk_stack *s)
{
	for (uint32_t i = 0; i < s->nframes; i++)
		printf("0x%" PRIx64 "\n", s->frames[i].pc);
	if (s->is_cut || s->is_doubtful)
		printf("%s\n", s->is_cut ? "cut" : "doubtful");
}

static int stopped_show(const char *pid_text, pid_t tid)
{
	struct walk_stack stack;
	struct walk_target *w;
	struct target *t;
	struct err *e;
	int status;

	for (int i = 0; !has_stopped(pid_text); i++) {
		if (i == TRIES)
			return give_up("the process does not stop");
		(void)usleep(1000);
	}
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ||
	    waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		return give_up("cannot trace the thread");
	e = target_held_open((pid_t)strtol(pid_text, NULL, 10), files_default()->gate, &t);
	if (e)
		return error_show(e);
	w = walk_target_open(t, files_default());
	e = thread_walk(t, w, tid, &stack);
	if (e)
		return error_show(e);
	stack_show(&stack);
	free(stack.frames);
	walk_target_close(w);
	target_close(t);
	return 0;
}

/* ---- instruction by instruction ------------------------------------------------------------- */

struct steps {
	pid_t pid;
	struct target *target;
	struct walk_target *walk;
	taddr outer[OUTER];
	uint64_t nstacks, nbad;
};

static bool is_mark(pid_t pid)
{
	struct user_regs_struct regs;

	return ptrace(PTRACE_GETREGS, pid, NULL, &regs) == 0 && regs.orig_rax == SYS_kill &&
	       regs.rdi == 0 && regs.rsi == 0;
}

/* Lets the process run to the exit of its next kill(0, 0). */
static bool mark_reach(pid_t pid)
{
	int status;

	do {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status))
			return false;
	} while (!is_mark(pid));
	return true;
}

static bool outer_is_same(const struct steps *s, const struct walk_stack *k)
{
	if (k->nframes < OUTER || k->is_cut)
		return false;
	for (uint32_t i = 0; i < OUTER; i++)
		if (k->frames[k->nframes - OUTER + i].pc != s->outer[i])
			return false;
	return true;
}

static void stack_check(struct steps *s)
{
	struct walk_stack k;
	struct err *e = thread_walk(s->target, s->walk, s->pid, &k);

	if (e) {
		s->nbad++;
		return;
	}
	if (!s->nstacks++ && k.nframes > OUTER)
		for (uint32_t i = 0; i < OUTER; i++)
			s->outer[i] = k.frames[k.nframes - OUTER + i].pc;
	if (!outer_is_same(s, &k) && s->nbad++ < SHOWN) {
		printf("stack %" PRIu64 ":\n", s->nstacks);
		stack_show(&k);
	}
	free(k.frames);
}

static int steps_run(struct steps *s)
{
	struct err *e;
	int status;

	if (!mark_reach(s->pid) || !mark_reach(s->pid))
		return give_up("the program does not begin");
	e = target_held_open(s->pid, files_default()->gate, &s->target);
	if (e)
		return error_show(e);
	s->walk = walk_target_open(s->target, files_default());
	do {
		stack_check(s);
		if (ptrace(PTRACE_SINGLESTEP, s->pid, NULL, NULL) ||
		    waitpid(s->pid, &status, 0) != s->pid || !WIFSTOPPED(status))
			return give_up("the program ends too soon");
	} while (!is_mark(s->pid) || s->nstacks < 10);
	printf("%" PRIu64 " stacks, %" PRIu64 " bad\n", s->nstacks, s->nbad);
	walk_target_close(s->walk);
	target_close(s->target);
	return s->nbad ? 1 : 0;
}

static int steps_begin(char **argv)
{
	struct steps s = {.pid = fork()};
	int status, rc;

	if (s.pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)execv(argv[0], argv);
		_exit(127);
	}
	if (s.pid < 0 || waitpid(s.pid, &status, 0) != s.pid || !WIFSTOPPED(status))
		return give_up("cannot run the program");
	rc = steps_run(&s);
	(void)kill(s.pid, SIGKILL);
	return rc;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "stopped") == 0)
		return stopped_show(argv[2], (pid_t)strtol(argv[argc - 1], NULL, 10));
	if (argc > 2 && strcmp(argv[1], "steps") == 0)
		return steps_begin(argv + 2);
	return 2;
}
