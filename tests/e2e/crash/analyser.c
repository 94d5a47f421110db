/* SPDX-License-Identifier: MIT */
/*
 * Stands for the analyser that the capturer starts (--store STORE --config FILE analyse ID
 * --entry=FD). It tries the lock of the entry as early as a program can, and writes into FILE.ID
 * whether another analyser would be refused and the inherited descriptor has it. Static, so that
 * nothing is loaded before.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char entry[4096], name[4096], temporary[4100];
	int fd, held = -1, is_refused;
	const char *said;

	if (argc < 8 || sscanf(argv[7], "--entry=%d", &held) != 1)
		return 2;
	(void)snprintf(entry, sizeof(entry), "%s/%s", argv[2], argv[6]);
	fd = open(entry, O_RDONLY | O_DIRECTORY);
	is_refused = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
	said = !is_refused ? "free" : flock(held, LOCK_EX | LOCK_NB) != 0 ? "another's" : "ours";
	(void)snprintf(name, sizeof(name), "%s.%s", argv[4], argv[6]);
	(void)snprintf(temporary, sizeof(temporary), "%s~", name);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	return write(fd, said, strlen(said)) < 0 || rename(temporary, name) != 0;
}
