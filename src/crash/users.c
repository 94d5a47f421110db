/* SPDX-License-Identifier: MIT */
/* Hands crashes to the users whose processes have died. */
#include "crash/users.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/format.h"

#define VERSION	    1u
#define SECONDS	    10u	  /* of an answer, and of a client's patience */
#define LISTED_MAX  1000u /* crashes of a list, the newest first */
#define LIST_BYTES  (64u << 20)
#define STATUS_MAX  65536u /* bytes of a copy of /proc/PID/status */
#define WAITING_MAX 128
#define ANSWERS_MAX 64u /* at the same time; those who ask have no rights */

enum what { WHAT_LIST = 1, WHAT_FILE = 2 };

struct request {
	uint32_t version, what;
	char id[CRASH_ID_SIZE], name[32]; /* with a NUL */
};
struct answer {
	uint32_t version;
	int32_t error; /* errno; 0: a descriptor comes with it */
};

/* The files that an answer may have. */
static const char *const file_names[] = {CRASH_FILE_CORE, CRASH_FILE_CORE_ZST, CRASH_FILE_REPORT,
					 CRASH_FILE_TEXT};

/* ---- whose a crash is ------------------------------------------------------------------------ */

/* The numbers of a line of /proc/PID/status; the kernel escapes line feeds in the only name. */
static uint32_t status_numbers(const char *status, const char *key, int base, uint64_t *ret,
			       uint32_t max)
{
	const char *at = strstr(status, key);
	uint32_t n = 0;

	if (!at)
		return 0;
	for (at += strlen(key); n < max; n++) {
		char *end;

		at += strspn(at, "\t ");
		ret[n] = strtoull(at, &end, base);
		if (end == at)
			break;
		at = end;
	}
	return n;
}

static bool ids_are(const char *status, const char *key, uint64_t id)
{
	uint64_t ids[4];

	return status_numbers(status, key, 10, ids, 4) == 4 && ids[0] == id && ids[1] == id &&
	       ids[2] == id && ids[3] == id;
}

static bool is_zero(const char *status, const char *key)
{
	uint64_t bits;

	return status_numbers(status, key, 16, &bits, 1) == 1 && !bits;
}

/* Whether all ids are those of one user and one group, with no capability, in no namespace. */
static bool status_is_of(const char *status, uid_t uid, int64_t gid)
{
	uint64_t pids[2];

	return ids_are(status, "\nUid:", uid) && ids_are(status, "\nGid:", (uint64_t)gid) &&
	       is_zero(status, "\nCapPrm:") && is_zero(status, "\nCapEff:") &&
	       status_numbers(status, "\nNStgid:", 10, pids, 2) == 1;
}

/* The file uid_map of the initial namespace: each id is itself. */
static bool map_is_initial(const char *map)
{
	uint64_t n[4];

	return status_numbers(map, "", 10, n, 3) == 3 && !n[0] && !n[1] && n[2] == UINT32_MAX &&
	       strcspn(map, "\n") == strlen(map) - 1;
}

static bool copy_read(int proc, const char *name, struct strbuf *ret)
{
	struct err *e = crash_file_read(proc, name, STATUS_MAX, ret);
	bool is_good = !e && memchr(strbuf_text(ret), '\0', ret->len) == NULL;

	err_destroy(e); /* what is not known is not the user's */
	return is_good;
}

bool crash_is_of_user(const struct crash_store *s, const struct crash_entry *c, uid_t uid)
{
	int64_t gid = pairs_int(&c->capture, CRASH_KEY_GID, -1);
	struct strbuf status = {0}, map = {0};
	CLEANUP(fd) int dir = -1;
	CLEANUP(fd) int proc = -1;
	bool is_theirs;

	if (pairs_int(&c->capture, CRASH_KEY_DUMPABLE, -1) != 1 || gid < 0 ||
	    pairs_int(&c->capture, CRASH_KEY_UID, -1) != (int64_t)uid ||
	    pairs_int(&c->capture, CRASH_KEY_EUID, -1) != (int64_t)uid ||
	    pairs_int(&c->capture, CRASH_KEY_EGID, -1) != gid ||
	    pairs_int(&c->capture, CRASH_KEY_LOG_READABLE, 0) != 1 ||
	    pairs_find(&c->capture, CRASH_KEY_CONTAINER))
		return false;
	dir = crash_entry_open(s, c->id);
	if (dir >= 0)
		proc = openat(dir, CRASH_FILE_PROC,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	is_theirs = proc >= 0 && copy_read(proc, "status", &status) &&
		    copy_read(proc, "uid_map", &map) &&
		    status_is_of(strbuf_text(&status), uid, gid) &&
		    map_is_initial(strbuf_text(&map));
	strbuf_deinit(&status);
	strbuf_deinit(&map);
	return is_theirs;
}

/* ---- the server ------------------------------------------------------------------------------ */

static void pairs_add(struct strbuf *out, const char *key, const struct pairs *p)
{
	struct strbuf text = {0};

	for (uint32_t i = 0; i < p->list.len; i++)
		pair_write(&text, p->list.data[i].key, p->list.data[i].value);
	pair_write(out, key, strbuf_text(&text));
	strbuf_deinit(&text);
}

static void entry_add(struct strbuf *out, const struct crash_entry *c)
{
	pair_write(out, "entry", c->id);
	pair_write_int(out, "count", (int64_t)c->count);
	pair_write_int(out, "core_size", (int64_t)c->core_size);
	pair_write_int(out, "is_packed", c->is_packed);
	pair_write_int(out, "has_report", c->has_report);
	pairs_add(out, "capture", &c->capture);
	pairs_add(out, "analysed", &c->analysed);
}

/* Returns a descriptor of the list, or -1 with errno. */
static int list_make(const struct crash_store *s, uid_t uid)
{
	CLEANUP(fd) int fd = memfd_create("crashes", MFD_CLOEXEC);
	struct strbuf text = {0};
	crash_entries all = {0};
	struct err *e = crash_entries_read(s, &all);
	uint32_t n = 0;

	if (e) {
		err_destroy(e); /* the user cannot mend the store */
		errno = EIO;
		return -1;
	}
	for (uint32_t i = 0; i < all.len && n < LISTED_MAX && text.len < LIST_BYTES / 2; i++) {
		if (!crash_is_of_user(s, &all.data[i], uid))
			continue;
		entry_add(&text, &all.data[i]);
		n++;
	}
	crash_entries_deinit(&all);
	if (fd >= 0 && text.len && write(fd, text.data, text.len) != (ssize_t)text.len)
		cleanup_fd(&fd);
	strbuf_deinit(&text);
	return fd_take(&fd);
}

static bool name_is_given(const char *name)
{
	for (uint32_t i = 0; i < ARRAY_LEN(file_names); i++)
		if (strcmp(name, file_names[i]) == 0)
			return true;
	return false;
}

/* Opens a file of a user's crash; -1 with errno. */
static int file_give(const struct crash_store *s, uid_t uid, const char *id, const char *name)
{
	struct crash_entry c = {0};
	CLEANUP(fd) int dir = -1;
	struct err *e;
	bool is_theirs;

	errno = ENOENT;
	if (!crash_id_is_good(id) || !name_is_given(name))
		return -1;
	e = crash_entry_read(s, id, &c);
	is_theirs = !e && crash_is_of_user(s, &c, uid);
	err_destroy(e);
	crash_entry_deinit(&c);
	dir = is_theirs ? crash_entry_open(s, id) : -1;
	errno = ENOENT;
	return dir >= 0 ? crash_file_open(dir, name) : -1;
}

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static bool answer_send(int to, struct answer *a, int fd)
{
	union control control = {0};
	struct iovec part = {a, sizeof(*a)};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (fd >= 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(to, &m, MSG_NOSIGNAL) == sizeof(*a);
}

struct err *crash_users_answer(const char *store, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct answer answer = {.version = VERSION};
	struct crash_store s = {0};
	struct request q;
	CLEANUP(fd) int given = -1;
	struct err *e;
	ssize_t n;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 || len != sizeof(peer))
		return err_sys(errno, "the standard input is no connection of a user");
	(void)alarm(SECONDS); /* it ends this process, which has nothing that is half done */
	n = recv(fd, &q, sizeof(q), MSG_TRUNC);
	if (n == 0)
		return NULL; /* it wants to know whether we listen */
	if (n != sizeof(q) || q.version != VERSION)
		return err_new("user %u has sent no request of this version", peer.uid);
	q.id[sizeof(q.id) - 1] = q.name[sizeof(q.name) - 1] = '\0';
	e = crash_store_open(store, &s);
	if (!e)
		given = q.what == WHAT_LIST   ? list_make(&s, peer.uid)
			: q.what == WHAT_FILE ? file_give(&s, peer.uid, q.id, q.name)
					      : (errno = EINVAL, -1);
	answer.error = e ? EIO : given < 0 ? errno : 0;
	(void)answer_send(fd, &answer, given); /* who has gone away misses nothing */
	crash_store_close(&s);
	return e;
}

static struct err *address_make(const char *path, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(ret->sun_path))
		return err_new("the path of the socket, '%s', is too long", path);
	memcpy(ret->sun_path, path, strlen(path) + 1);
	return NULL;
}

struct err *crash_users_listen(const char *store, const char *path)
{
	CLEANUP(fd) int server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;
	struct err *e = address_make(path, &at);

	if (e)
		return e;
	(void)unlink(path);
	if (server < 0 || bind(server, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    chmod(path, 0666) != 0 || listen(server, WAITING_MAX) != 0)
		return err_sys(errno, "cannot listen at '%s'", path);
	(void)signal(SIGCHLD, SIG_DFL);
	for (uint32_t n = 0;;) {
		CLEANUP(fd) int fd = accept4(server, NULL, NULL, SOCK_CLOEXEC);
		pid_t pid;

		if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
			return err_sys(errno, "cannot accept a connection at '%s'", path);
		/* each ends after SECONDS, whatever its client does */
		while (n && waitpid(-1, NULL, n < ANSWERS_MAX ? WNOHANG : 0) > 0)
			n--;
		pid = fd < 0 ? -1 : fork();
		if (pid == 0)
			return crash_users_answer(store, fd);
		n += pid > 0;
	}
}

/* ---- the client ------------------------------------------------------------------------------ */

static int server_connect(const char *path)
{
	CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct timeval patience = {.tv_sec = 2 * SECONDS};
	struct sockaddr_un at;
	struct err *e = address_make(path, &at);

	if (e) {
		err_destroy(e);
		errno = ENAMETOOLONG;
		return -1;
	}
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0 ||
	    connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		return -1;
	return fd_take(&fd);
}

bool crash_users_are_served(const char *socket)
{
	CLEANUP(fd) int fd = server_connect(socket);

	return fd >= 0;
}

/* Asks, and returns the descriptor of the answer; -1 with errno. */
static int server_ask(const char *socket, const struct request *q)
{
	CLEANUP(fd) int server = server_connect(socket);
	CLEANUP(fd) int fd = -1;
	union control control = {0};
	struct answer a = {0};
	struct iovec part = {&a, sizeof(a)};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c;
	ssize_t n;

	if (server < 0 || send(server, q, sizeof(*q), MSG_NOSIGNAL) != sizeof(*q))
		return -1;
	n = recvmsg(server, &m, MSG_CMSG_CLOEXEC);
	c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if (n < 0)
		return -1;
	if (n != sizeof(a) || a.version != VERSION || a.error || fd < 0) {
		errno = a.error > 0 ? a.error : EPROTO;
		return -1;
	}
	return fd_take(&fd);
}

/* Begins an entry that the list says something of. */
static struct crash_entry *entry_begin(crash_entries *all, const char *id)
{
	struct crash_entry c = {.count = 1};

	if (!crash_id_is_good(id))
		return NULL;
	memcpy(c.id, id, strlen(id) + 1);
	vec_push(all, c);
	return &all->data[all->len - 1];
}

static void entry_take(struct crash_entry *c, const struct pair *p)
{
	int64_t n = strtoll(p->value, NULL, 10);

	if (strcmp(p->key, "count") == 0)
		c->count = (uint64_t)MAX(n, (int64_t)1);
	else if (strcmp(p->key, "core_size") == 0)
		c->core_size = (uint64_t)MAX(n, (int64_t)0);
	else if (strcmp(p->key, "is_packed") == 0)
		c->is_packed = n;
	else if (strcmp(p->key, "has_report") == 0)
		c->has_report = n;
	else if (strcmp(p->key, "capture") == 0 && !c->capture.list.len)
		pairs_parse(p->value, strlen(p->value), &c->capture);
	else if (strcmp(p->key, "analysed") == 0 && !c->analysed.list.len)
		pairs_parse(p->value, strlen(p->value), &c->analysed);
}

/* The lines of a list are more than a file of pairs may have, so that each is parsed alone. */
static void list_parse(const char *text, size_t len, crash_entries *ret)
{
	struct crash_entry *c = NULL;

	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) + 1 : len;
		struct pairs line = {0};

		pairs_parse(text, n, &line);
		if (line.list.len && strcmp(line.list.data[0].key, "entry") == 0)
			c = entry_begin(ret, line.list.data[0].value);
		else if (line.list.len && c)
			entry_take(c, &line.list.data[0]);
		pairs_deinit(&line);
		text += n;
		len -= n;
	}
}

struct err *crash_users_list(const char *socket, crash_entries *ret)
{
	struct request q = {.version = VERSION, .what = WHAT_LIST};
	CLEANUP(fd) int fd = server_ask(socket, &q);
	struct strbuf text = {0};
	struct err *e;

	if (fd < 0)
		return err_sys(errno, "cannot ask '%s' for the crashes of user %u", socket,
			       (unsigned)geteuid());
	e = lseek(fd, 0, SEEK_SET) == 0 ? crash_fd_read(fd, "list of crashes", LIST_BYTES, &text)
					: err_sys(errno, "cannot read the list of crashes");
	if (!e)
		list_parse(strbuf_text(&text), text.len, ret);
	strbuf_deinit(&text);
	for (uint32_t i = 0; i < ret->len; i++)
		crash_entry_number(&ret->data[i]);
	return e;
}

int crash_users_open(const char *socket, const char *id, const char *name)
{
	struct request q = {.version = VERSION, .what = WHAT_FILE};

	if (strlen(id) >= sizeof(q.id) || strlen(name) >= sizeof(q.name)) {
		errno = ENOENT;
		return -1;
	}
	memcpy(q.id, id, strlen(id) + 1);
	memcpy(q.name, name, strlen(name) + 1);
	return server_ask(socket, &q);
}
