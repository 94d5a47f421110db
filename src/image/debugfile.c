/* SPDX-License-Identifier: MIT */
/* Tries the names that a separate debug file may have. */
#include "image/debugfile.h"

#include <sys/stat.h>
#include <zlib.h>

#include "base/str.h"
#include "image/build_id.h"
#include "files/gate.h"

struct search {
	const struct build_mark *mark;
	const struct debug_search *where;
	debug_file_f *use;
	void *ctx;
	struct strbuf path;
};

/*
 * Compares the CRC-32 of the file, for which all of it is read. A file with more than max bytes is
 * refused.
 */
static bool has_crc(struct gate_file *f, uint64_t max, uint32_t want)
{
	CLEANUP(free) unsigned char *buf = xmalloc(1 << 16);
	uLong crc = crc32(0, NULL, 0);
	uint64_t off = 0;
	ssize_t n = 1;

	while (off <= max && (n = gate_file_read(f, buf, 1 << 16, off)) > 0) {
		crc = crc32(crc, buf, (uInt)n);
		off += (uint64_t)n;
	}
	return n == 0 && crc == want;
}

/* Whether others than the user, root, and the owner of the stripped file cannot have changed it. */
static bool is_trusted(const struct debug_trust *t, const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != t->owner)
		return false;
	return st->st_uid == t->user || !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * Offers the file w->path, as a process with this root directory sees it, if that is not the
 * stripped file itself.
 */
static bool try_path(const struct search *w, int root, bool by_name)
{
	CLEANUP(gate_file)
	struct gate_file *f = gate_open_path(w->where->gate, root, strbuf_text(&w->path));
	const struct stat *st = f ? gate_file_stat(f) : NULL;

	if (!f || (st->st_ino == w->where->ino && st->st_dev == w->where->dev))
		return false;
	if (by_name && !w->mark->id.len &&
	    !has_crc(f, GATE_DEBUG_FACTOR * w->where->limit, w->mark->debug_crc))
		return false;
	if (w->where->trust && !is_trusted(w->where->trust, st)) {
		*w->where->trust->refused = true;
		return false;
	}
	return w->use(w->ctx, f);
}

static bool try_build_id(struct search *w, const char *dir, size_t dir_len)
{
	const struct build_id *id = &w->mark->id;

	if (id->len < 2)
		return false;
	strbuf_clear(&w->path);
	strbuf_add(&w->path, dir, dir_len);
	strbuf_addf(&w->path, "/.build-id/%02x/", id->bytes[0]);
	build_id_add(&w->path, id, 1);
	strbuf_adds(&w->path, ".debug");
	return (w->where->root >= 0 && try_path(w, w->where->root, false)) ||
	       try_path(w, -1, false);
}

/* Tries DIR + the folder of the stripped file + SUB + the name in .gnu_debuglink. */
static bool try_link(struct search *w, const char *dir, size_t dir_len, const char *sub)
{
	const char *slash = strrchr(w->where->path, '/');

	if (!w->mark->debug_link || strchr(w->mark->debug_link, '/') || !slash)
		return false;
	strbuf_clear(&w->path);
	strbuf_add(&w->path, dir, dir_len);
	strbuf_add(&w->path, w->where->path, (size_t)(slash - w->where->path));
	strbuf_addf(&w->path, "/%s%s", sub, w->mark->debug_link);
	return try_path(w, w->where->root, true);
}

/* Calls try() for each directory of the option debugdir until it returns true. */
static bool each_dir(struct search *w, bool (*try)(struct search *w, const char *dir, size_t len))
{
	for (const char *p = w->where->dirs; *p;) {
		size_t len = strcspn(p, ":");

		if (len && try(w, p, len))
			return true;
		p += len + (p[len] == ':');
	}
	return false;
}

static bool try_link_below(struct search *w, const char *dir, size_t len)
{
	return try_link(w, dir, len, "");
}

bool debug_file_find(const struct build_mark *m, const struct debug_search *where,
		     debug_file_f *use, void *ctx)
{
	struct search w = {m, where, use, ctx, {0}};
	bool found = each_dir(&w, try_build_id) || try_link(&w, "", 0, "") ||
		     try_link(&w, "", 0, ".debug/") || each_dir(&w, try_link_below);

	if (found && where->trust)
		*where->trust->refused = false;
	strbuf_deinit(&w.path);
	return found;
}
