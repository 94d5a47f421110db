/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target once on each file named: how the suite replays what fuzzing has found, in any
 * build.
 *
 *     replay_TARGET FILE...
 */
#include "base/base.h"

#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool replay(const char *path)
{
	CLEANUP(file) FILE *f = fopen(path, "re");
	CLEANUP(free) uint8_t *data = NULL;
	struct stat st;

	if (!f || fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	data = xmalloc((size_t)st.st_size);
	if (fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		return false;
	return LLVMFuzzerTestOneInput(data, (size_t)st.st_size) == 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		printf("%s\n", argv[i]); /* the last one is what crashed */
		fflush(stdout);
		if (!replay(argv[i])) {
			fprintf(stderr, "cannot replay '%s'\n", argv[i]);
			return 1;
		}
	}
	return 0;
}
