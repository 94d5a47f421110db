/* SPDX-License-Identifier: MIT */
/*
 * has WORD: says whether this machine has what a test needs, which is found by trying it.
 *
 * Status 0: it has. 1: it has not; "skip: WORD: REASON" is on stdout. 2: the word is unknown.
 * FATHOM_LACKS=WORD,... makes the machine lack what it names, so that a test of the tests can show
 * what happens then.
 *
 * To add a need: a function that returns NULL or the reason, and a row in `needs`.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRY_STATUS 7

/* A child that could not be made has no status: kill(-1) would be for all processes. */
static pid_t child_make(void)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("has: fork");
		exit(2);
	}
	return pid;
}

static int status_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

#ifdef __x86_64__

/* A whole program of 32 bits: exit(TRY_STATUS). */
static const char *try_programs32(void)
{
	static const unsigned char code[] = {0xb8, 1,	       0, 0, 0, /* mov $1, %eax */
					     0xbb, TRY_STATUS, 0, 0, 0, /* mov $7, %ebx */
					     0xcd, 0x80};		/* int $0x80 */
	const Elf32_Addr base = 0x08048000;
	struct {
		Elf32_Ehdr e;
		Elf32_Phdr p;
		unsigned char code[sizeof(code)];
	} file = {
		.e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
		      .e_type = ET_EXEC,
		      .e_machine = EM_386,
		      .e_version = EV_CURRENT,
		      .e_entry = base + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
		      .e_phoff = sizeof(Elf32_Ehdr),
		      .e_ehsize = sizeof(Elf32_Ehdr),
		      .e_phentsize = sizeof(Elf32_Phdr),
		      .e_phnum = 1},
		.p = {.p_type = PT_LOAD,
		      .p_vaddr = base,
		      .p_filesz = sizeof(file),
		      .p_memsz = sizeof(file),
		      .p_flags = PF_R | PF_X,
		      .p_align = 4096},
	};
	int fd = memfd_create("programs32", 0), status;
	pid_t pid;

	memcpy(file.code, code, sizeof(code));
	if (fd < 0 || write(fd, &file, sizeof(file)) != (ssize_t)sizeof(file))
		return "a program of 32 bits cannot be made";
	pid = child_make();
	if (pid == 0) {
		char *none[] = {NULL};

		(void)fexecve(fd, none, none);
		_exit(1);
	}
	status = status_of(pid);
	close(fd);
	return WIFEXITED(status) && WEXITSTATUS(status) == TRY_STATUS
		       ? NULL
		       : "this kernel does not run programs of 32 bits";
}

/* A system call of 32 bits in a program of 64. */
static const char *try_int80(void)
{
	pid_t pid = child_make();
	int status;

	if (pid == 0) {
		long nr = 20; /* getpid() */

		__asm__ volatile("int $0x80" : "+a"(nr) : : "memory", "r8", "r9", "r10", "r11");
		_exit(nr == getpid() ? TRY_STATUS : 1);
	}
	status = status_of(pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == TRY_STATUS
		       ? NULL
		       : "this machine refuses 'int $0x80' in a program of 64 bits";
}

static __attribute__((noinline)) void breakpoint_here(void)
{
	__asm__ volatile("" ::: "memory");
}

/* On some virtual machines the debug registers take values, and the breakpoint never fires. */
static const char *try_hwbreak(void)
{
	pid_t pid = child_make();
	int status;

	if (pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		breakpoint_here();
		_exit(0);
	}
	if (!WIFSTOPPED(status_of(pid)))
		return "no process can be traced";
	if (ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[0]), breakpoint_here) ||
	    ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), 1) ||
	    ptrace(PTRACE_CONT, pid, NULL, NULL))
		status = 0;
	else
		status = status_of(pid);
	if (!WIFSTOPPED(status))
		return "hardware breakpoints do not fire on this machine";
	(void)kill(pid, SIGKILL);
	(void)status_of(pid);
	return NULL;
}

/* Some hypervisors lose the trap of a single step over what they execute themselves. */
static const char *try_cpuid_step(void)
{
	extern const char cpuid_begins[], cpuid_ends[];
	struct user_regs_struct regs = {0};
	pid_t pid = child_make();
	bool is_right;

	if (pid == 0) {
		unsigned int a = 0, c = 0;

		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		__asm__ volatile(".globl cpuid_begins, cpuid_ends\n"
				 "int3\n"
				 "cpuid_begins: cpuid\n"
				 "cpuid_ends: nop\n nop\n nop\n nop\n"
				 : "+a"(a), "+c"(c)
				 :
				 : "rbx", "rdx");
		_exit(0);
	}
	is_right = WIFSTOPPED(status_of(pid)) && !ptrace(PTRACE_CONT, pid, NULL, NULL) &&
		   WIFSTOPPED(status_of(pid)) && !ptrace(PTRACE_GETREGS, pid, NULL, &regs) &&
		   regs.rip == (unsigned long)cpuid_begins &&
		   !ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) && WIFSTOPPED(status_of(pid)) &&
		   !ptrace(PTRACE_GETREGS, pid, NULL, &regs) &&
		   regs.rip == (unsigned long)cpuid_ends;
	(void)kill(pid, SIGKILL);
	return is_right ? NULL : "a single step over 'cpuid' loses its trap on this machine";
}

/* A clock of the process itself: the kernel's is the time stamp counter, which runs evenly. */
static const char *try_even_tsc(void)
{
	char line[8192] = "";
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	bool is_counter = f && fgets(line, sizeof(line), f) &&
			  (strcmp(line, "tsc\n") == 0 || strcmp(line, "kvm-clock\n") == 0 ||
			   strcmp(line, "hyperv_clocksource_tsc_page\n") == 0);

	if (f)
		(void)fclose(f);
	if (!is_counter)
		return "the kernel's clock is not the time stamp counter";
	f = fopen("/proc/cpuinfo", "re");
	while (f && fgets(line, sizeof(line), f) && strncmp(line, "flags", 5) != 0)
		;
	if (f)
		(void)fclose(f);
	return strstr(line, " constant_tsc") && strstr(line, " nonstop_tsc")
		       ? NULL
		       : "the processor's time stamp counter does not run evenly";
}

#else

static const char *try_even_tsc(void)
{
	return "this processor has no time stamp counter";
}

static const char *try_programs32(void)
{
	return "this processor has no programs of 32 bits";
}

static const char *try_int80(void)
{
	return "this processor has no 'int $0x80'";
}

static const char *try_hwbreak(void)
{
	return "the test is for another processor";
}

static const char *try_cpuid_step(void)
{
	return "this processor has no 'cpuid'";
}

#endif

static const struct {
	const char *word;
	const char *(*try)(void);
} needs[] = {
	{"programs32", try_programs32}, {"int80", try_int80},	    {"hwbreak", try_hwbreak},
	{"cpuid_step", try_cpuid_step}, {"even_tsc", try_even_tsc},
};

static bool is_forced_absent(const char *word)
{
	const char *list = getenv("FATHOM_LACKS"), *at;
	size_t len = strlen(word);

	for (at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, word, len) == 0 && (at[len] == ',' || !at[len]))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(needs) / sizeof(needs[0]); i++) {
		const char *reason;

		if (strcmp(argv[1], needs[i].word) != 0)
			continue;
		reason = is_forced_absent(argv[1]) ? "FATHOM_LACKS says so" : needs[i].try();
		if (reason)
			printf("skip: %s: %s\n", argv[1], reason);
		return reason != NULL;
	}
	fprintf(stderr, "usage: has WORD\n");
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		fprintf(stderr, "  %s\n", needs[i].word);
	return 2;
}
