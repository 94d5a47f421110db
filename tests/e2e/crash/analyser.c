/* SPDX-License-Identifier: MIT */
/*
 * Stands for the analyser that the capturer starts (--store STORE --config FILE analyse ID).
 * It tries the lock of the entry as early as a program can, and writes into FILE.ID whether it got
 * it. Static, so that nothing is loaded before.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char entry[4096], name[4096], temporary[4100];
	const char *said;
	int fd;

	if (argc < 7)
		return 2;
	(void)snprintf(entry, sizeof(entry), "%s/%s", argv[2], argv[6]);
	fd = open(entry, O_RDONLY | O_DIRECTORY);
	said = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 ? "locked" : "refused";
	(void)snprintf(name, sizeof(name), "%s.%s", argv[4], argv[6]);
	(void)snprintf(temporary, sizeof(temporary), "%s~", name);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	return write(fd, said, strlen(said)) < 0 || rename(temporary, name) != 0;
}
