/* SPDX-License-Identifier: MIT */
/*
 * denied CALL ERRNO COMMAND [ARGUMENT]...
 *
 * Runs a command for which the system call with the number CALL fails with the error ERRNO, as
 * under the policy of a container: a seccomp filter answers in the kernel's place.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned int call = argc > 3 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0,
		     error = argc > 3 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};

	if (argc < 4) {
		fprintf(stderr, "usage: denied CALL ERRNO COMMAND [ARGUMENT]...\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		perror("denied");
		return 1;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 127;
}
