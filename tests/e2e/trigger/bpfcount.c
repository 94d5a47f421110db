/* SPDX-License-Identifier: MIT */
/*
 * bpfcount UID: prints how many BPF programs named fathom_* are loaded that this user has loaded
 * (asuser.c).
 */
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

int main(int argc, char **argv)
{
	union bpf_attr next = {0};
	__u32 uid = argc == 2 ? (__u32)strtoul(argv[1], NULL, 10) : 0;
	int n = 0;

	while (bpf(BPF_PROG_GET_NEXT_ID, &next) == 0) {
		union bpf_attr get = {.prog_id = next.next_id};
		struct bpf_prog_info info = {0};
		int fd = (int)bpf(BPF_PROG_GET_FD_BY_ID, &get);
		union bpf_attr ask = {0};

		next.start_id = next.next_id;
		if (fd < 0)
			continue;
		ask.info.bpf_fd = (__u32)fd;
		ask.info.info_len = sizeof(info);
		ask.info.info = (__u64)(unsigned long)&info;
		if (bpf(BPF_OBJ_GET_INFO_BY_FD, &ask) == 0 && info.created_by_uid == uid &&
		    strncmp(info.name, "fathom_", 7) == 0)
			n++;
		close(fd);
	}
	printf("%d\n", n);
	return 0;
}
