/* SPDX-License-Identifier: MIT */
/* The file "capture" of an entry: what is known of the crash, a line each. */
#include "base/base.h"

#include <errno.h>

#include "cmd/capture/capture.h"

static void number_add(struct out *o, const char *key, u64 value)
{
	out_printf(o, "%s=%llu\n", key, (unsigned long long)value);
}

static void signed_add(struct out *o, const char *key, int value)
{
	out_printf(o, "%s=%d\n", key, value);
}

/* An id that is not known has no line. */
static void id_add(struct out *o, const char *key, u32 value)
{
	if (value != ~0u)
		number_add(o, key, value);
}

static void text_add(struct out *o, const char *key, const char *text, size_t len)
{
	out_printf(o, "%s=", key);
	out_escaped(o, text, len);
	out_bytes(o, "\n", 1);
}

static void word_add(struct out *o, const char *key, const char *text)
{
	text_add(o, key, text, strlen(text));
}

static void who_add(struct out *o, const struct process *p)
{
	number_add(o, CRASH_KEY_PID, p->pid);
	number_add(o, CRASH_KEY_TID, p->tid);
	if (p->ns_pid)
		number_add(o, CRASH_KEY_NS_PID, p->ns_pid);
	number_add(o, CRASH_KEY_TIME, time_real());
	if (p->start_ticks)
		number_add(o, CRASH_KEY_START, p->start_ticks);
	signed_add(o, CRASH_KEY_DUMPABLE, p->dumpable);
	if (p->core_limit != UNKNOWN_LIMIT)
		number_add(o, CRASH_KEY_CORE_LIMIT, p->core_limit);
	id_add(o, CRASH_KEY_UID, p->uid);
	id_add(o, CRASH_KEY_GID, p->gid);
	id_add(o, CRASH_KEY_EUID, p->euid);
	id_add(o, CRASH_KEY_EGID, p->egid);
}

static void where_add(struct out *o, const struct process *p)
{
	const char *path, *id;
	size_t len, id_len;

	text_add(o, CRASH_KEY_EXE, p->exe, p->exe_len);
	text_add(o, CRASH_KEY_COMM, p->comm, p->comm_len);
	text_add(o, CRASH_KEY_CWD, p->cwd, p->cwd_len);
	if (!cgroup_path(p, &path, &len))
		return;
	text_add(o, CRASH_KEY_CGROUP, path, len);
	if (cgroup_container(path, len, &id, &id_len))
		text_add(o, CRASH_KEY_CONTAINER, id, id_len);
}

static void core_add(struct out *o, const struct facts *f)
{
	const struct head *h = f->head;

	if (h->build_id_len) {
		out_printf(o, CRASH_KEY_EXE_BUILD_ID "=");
		for (size_t i = 0; i < h->build_id_len; i++)
			out_printf(o, "%02x", h->build_id[i]);
		out_bytes(o, "\n", 1);
	}
	word_add(o, CRASH_KEY_KEEP, keep_names[f->config->keep]);
	word_add(o, CRASH_KEY_KEPT, f->has_core ? keep_names[f->kept] : "no");
	if (f->cut)
		word_add(o, CRASH_KEY_CUT, f->cut);
	number_add(o, CRASH_KEY_LOG_READABLE, f->log_is_readable);
	word_add(o, CRASH_KEY_WAY, way_names[f->process->way]);
	number_add(o, CRASH_KEY_THREADS, h->threads);
	number_add(o, CRASH_KEY_THREADS_COPIED, f->has_core ? nstacks : 0);
	number_add(o, CRASH_KEY_BYTES_COPIED, f->copied.bytes);
	number_add(o, CRASH_KEY_HOLES, f->copied.holes);
	number_add(o, CRASH_KEY_WAITED, f->waited_ns);
	number_add(o, CRASH_KEY_COUNT_ONLY, 0);
}

const char *facts_write(const struct facts *f, int entry)
{
	static struct out o;
	int fd = file_create(entry, CRASH_FILE_CAPTURE);

	out_init(&o, fd);
	if (fd < 0)
		return strerror(errno);
	number_add(&o, CRASH_KEY_FORMAT, CRASH_FORMAT);
	word_add(&o, CRASH_KEY_ID, f->id);
	who_add(&o, f->process);
	signed_add(&o, CRASH_KEY_SIGNAL, f->process->signal);
	if (f->head->signal)
		signed_add(&o, CRASH_KEY_SI_CODE, f->head->code);
	if (f->head->has_addr)
		out_printf(&o, CRASH_KEY_SI_ADDR "=0x%llx\n",
			   (unsigned long long)f->head->fault_addr);
	where_add(&o, f->process);
	core_add(&o, f);
	out_flush(&o);
	if (!o.failed && fsync(fd) < 0)
		o.failed = errno;
	close(fd);
	return o.failed ? strerror(o.failed) : NULL;
}
