/* SPDX-License-Identifier: MIT */
/*
 * A file system that hangs on demand, over /dev/fuse without any library.
 *
 *     hangfs MOUNTPOINT FILE...
 *
 * serves copies of the files, by their base names, in one folder. It prints "ready" once it is
 * mounted, and then obeys the lines of its standard input, each of which it answers with "done":
 *
 *     hang open|read|getattr|lookup|flush|statfs ...   requests of these kinds stay unanswered
 *     from OFFSET                                      of requests to read, those from there on
 *     go                                               all are answered again, what waits included
 *     asked                                            prints how many requests wait
 *
 * At the end of its input it unmounts the folder and ends; the kernel then fails what is left
 * unanswered. Nothing that the kernel learns about names and attributes may be kept, so that every
 * path lookup asks the server.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX   64
#define WAITING_MAX 4096
#define BUF_SIZE    (1 << 20)

struct served {
	const char *name;
	char *data;
	struct stat st;
};

static struct served files[FILES_MAX];
static size_t nfiles;
static int dev;
static bool hangs[64]; /* by opcode */
static char *waiting[WAITING_MAX];
static size_t nwaiting;
static uint64_t hangs_from; /* requests to read */

static const struct {
	const char *name;
	uint32_t opcode;
} kinds[] = {
	{"open", FUSE_OPEN},	 {"read", FUSE_READ},	{"getattr", FUSE_GETATTR},
	{"lookup", FUSE_LOOKUP}, {"flush", FUSE_FLUSH}, {"statfs", FUSE_STATFS},
};

/* ---- files: node 1 is the folder, node 2 the first file -------------------------------------- */

static void file_read(const char *path)
{
	struct served *f = &files[nfiles++];
	const char *slash = strrchr(path, '/');
	int fd = open(path, O_RDONLY);

	if (nfiles > FILES_MAX || fd < 0 || fstat(fd, &f->st) != 0)
		err(1, "%s", path);
	f->name = slash ? slash + 1 : path;
	f->data = malloc((size_t)f->st.st_size + 1);
	if (!f->data || read(fd, f->data, (size_t)f->st.st_size) != f->st.st_size)
		err(1, "%s", path);
	close(fd);
}

static struct served *file_of(uint64_t node)
{
	return node >= 2 && node < 2 + nfiles ? &files[node - 2] : NULL;
}

static struct fuse_attr attr_of(uint64_t node)
{
	const struct served *f = file_of(node);

	return (struct fuse_attr){
		.ino = node,
		.size = f ? (uint64_t)f->st.st_size : 0,
		.blocks = f ? ((uint64_t)f->st.st_size + 511) / 512 : 0,
		.mtime = f ? (uint64_t)f->st.st_mtim.tv_sec : 0,
		.ctime = f ? (uint64_t)f->st.st_mtim.tv_sec : 0,
		.mode = f ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

/* ---- answers --------------------------------------------------------------------------------- */

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t size)
{
	static char buf[BUF_SIZE + sizeof(struct fuse_out_header)];
	struct fuse_out_header out = {(uint32_t)(sizeof(out) + size), -error, in->unique};

	memcpy(buf, &out, sizeof(out));
	if (size)
		memcpy(buf + sizeof(out), data, size);
	(void)!write(dev, buf, sizeof(out) + size); /* whoever asked may have been killed */
}

static void answer_lookup(const struct fuse_in_header *in, const char *name)
{
	for (size_t i = 0; i < nfiles; i++)
		if (strcmp(files[i].name, name) == 0) {
			struct fuse_entry_out out = {.nodeid = 2 + i, .attr = attr_of(2 + i)};

			answer(in, 0, &out, sizeof(out));
			return;
		}
	answer(in, ENOENT, NULL, 0);
}

static void answer_read(const struct fuse_in_header *in, const struct fuse_read_in *r)
{
	const struct served *f = file_of(in->nodeid);
	uint64_t size = f ? (uint64_t)f->st.st_size : 0;
	uint64_t n = r->offset < size ? size - r->offset : 0;

	if (n > r->size)
		n = r->size;
	if (n > BUF_SIZE)
		n = BUF_SIZE;
	answer(in, 0, n ? f->data + r->offset : NULL, n);
}

static void serve(const char *request)
{
	const struct fuse_in_header *in = (const void *)request;
	const void *arg = request + sizeof(*in);
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
	struct fuse_attr_out attr = {.attr = attr_of(in->nodeid)};
	struct fuse_open_out opened = {0};
	struct fuse_statfs_out fs = {.st = {.bsize = 4096, .namelen = 255}};

	switch (in->opcode) {
	case FUSE_INIT: answer(in, 0, &init, sizeof(init)); break;
	case FUSE_LOOKUP: answer_lookup(in, arg); break;
	case FUSE_GETATTR: answer(in, 0, &attr, sizeof(attr)); break;
	case FUSE_OPEN:
	case FUSE_OPENDIR: answer(in, 0, &opened, sizeof(opened)); break;
	case FUSE_READ: answer_read(in, arg); break;
	case FUSE_STATFS: answer(in, 0, &fs, sizeof(fs)); break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR: answer(in, 0, NULL, 0); break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: break;
	default: answer(in, ENOSYS, NULL, 0); break;
	}
}

static bool is_held(const struct fuse_in_header *in, const void *arg)
{
	const struct fuse_read_in *r = arg;

	return in->opcode < 64 && hangs[in->opcode] &&
	       (in->opcode != FUSE_READ || r->offset >= hangs_from);
}

static bool request_read(void)
{
	static char buf[BUF_SIZE];
	ssize_t n = read(dev, buf, sizeof(buf));
	const struct fuse_in_header *in = (const void *)buf;

	if (n < 0)
		return errno != ENODEV; /* it was unmounted */
	if (is_held(in, buf + sizeof(*in)) && nwaiting < WAITING_MAX) {
		waiting[nwaiting] = malloc((size_t)n);
		memcpy(waiting[nwaiting++], buf, (size_t)n);
		return true;
	}
	serve(buf);
	return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void obey(char *line)
{
	char *save, *word = strtok_r(line, " \n", &save);

	if (!word)
		return;
	if (strcmp(word, "asked") == 0)
		printf("%zu\n", nwaiting);
	if (strcmp(word, "go") == 0) {
		memset(hangs, 0, sizeof(hangs));
		for (size_t i = 0; i < nwaiting; i++) {
			serve(waiting[i]);
			free(waiting[i]);
		}
		nwaiting = 0;
	}
	if (strcmp(word, "from") == 0 && (word = strtok_r(NULL, " \n", &save)))
		hangs_from = strtoull(word, NULL, 0);
	else if (strcmp(word, "hang") == 0)
		while ((word = strtok_r(NULL, " \n", &save)))
			for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
				if (strcmp(kinds[i].name, word) == 0)
					hangs[kinds[i].opcode] = true;
	printf("done\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct pollfd fds[2];
	char options[128], line[256];

	if (argc < 3)
		errx(2, "usage: hangfs MOUNTPOINT FILE...");
	for (int i = 2; i < argc; i++)
		file_read(argv[i]);
	dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (dev < 0)
		err(1, "/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 dev);
	if (mount("hangfs", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) != 0)
		err(1, "%s", argv[1]);
	puts("ready");
	fflush(stdout);
	setvbuf(stdin, NULL, _IONBF, 0);
	fds[0] = (struct pollfd){.fd = dev, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[0].revents && !request_read())
			break;
		if (fds[1].revents) {
			if (!fgets(line, sizeof(line), stdin))
				break;
			obey(line);
		}
	}
	(void)umount2(argv[1], MNT_DETACH);
	return 0;
}
