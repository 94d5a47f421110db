/* SPDX-License-Identifier: MIT */
/*
 * asuser UID COMMAND [ARGUMENT]...
 *
 * Runs a command under a user id of its own, with all the capabilities there are. The kernel notes
 * with each BPF program the user that loaded it: so a test knows which programs are those of its
 * own dtrace.
 */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What is permitted becomes inheritable and ambient, so that it outlives exec(). */
static int caps_keep(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return -1;
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].inheritable = data[i].permitted;
	if (syscall(SYS_capset, &head, data))
		return -1;
	for (int cap = 0; cap < 64; cap++)
		if (data[cap / 32].permitted >> cap % 32 & 1 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0))
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: asuser UID COMMAND [ARGUMENT]...\n");
		return 2;
	}
	if (prctl(PR_SET_KEEPCAPS, 1) || setuid((uid_t)strtoul(argv[1], NULL, 10)) || caps_keep()) {
		perror("asuser");
		return 1;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
