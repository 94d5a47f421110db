/* SPDX-License-Identifier: MIT */
/* Commands about memory: what is mapped, what an address is, where something is. */
#include <inttypes.h>

#include "base/text.h"
#include "image/image.h"
#include "image/object.h"
#include "mdb/heap.h"
#include "mdb/whatis.h"

#define CHUNK	  65536u /* bytes that are searched at once */
#define FOUND_MAX 1000000u
#define PAGE	  4096u

/* ---- what is mapped -------------------------------------------------------------------------- */

struct err *cmd_mappings(struct mdb *m, const struct call *c)
{
	const struct proc_maps *maps = target_maps(m->t);

	emit_say(&m->out, "%16s %16s %12s %-5s %s\n", "START", "END", "SIZE", "FLAGS", "FILE");
	for (uint32_t i = 0; i < maps->maps.len && !m->is_interrupted; i++) {
		const struct proc_map *map = &maps->maps.data[i];
		char flags[4] = {map->is_write ? 'w' : '-', map->is_exec ? 'x' : '-',
				 map->is_shared ? 's' : '-'};

		if (c->has_addr && (c->addr < map->start || c->addr >= map->end))
			continue;
		if (m->opts.core)
			flags[2] = map->in_core ? 'c' : '-';
		emit_row(&m->out);
		emit_value(&m->out, map->start);
		emit_addr(&m->out, "start", map->start, 16);
		emit_addr(&m->out, "end", map->end, 16);
		emit_addr(&m->out, "size", map->end - map->start, 12);
		emit_str(&m->out, "flags", flags, -5);
		if (m->opts.core)
			emit_int(&m->out, "core-bytes", (int64_t)map->in_core, 0);
		emit_str(&m->out, "file", map->path, 1);
		emit_end(&m->out);
	}
	return NULL;
}

struct err *cmd_objects(struct mdb *m, const struct call *c)
{
	emit_say(&m->out, "%16s %16s %-40s %s\n", "BASE", "END", "BUILD-ID", "FILE");
	for (uint32_t i = 0; i < m->objects.len; i++) {
		const struct mdb_object *o = &m->objects.data[i];
		const char *id = o->image ? object_build_id(image_object(o->image, 0)) : "";

		emit_row(&m->out);
		emit_value(&m->out, o->start);
		emit_addr(&m->out, "base", o->start, 16);
		emit_addr(&m->out, "end", o->end, 16);
		emit_str(&m->out, "build-id", *id ? id : "-", -40);
		emit_str(&m->out, "file", o->map->path, 1);
		if (o->map->is_stale)
			emit_say(&m->out, "(another build now)");
		emit_bool(&m->out, "is-another-build", o->map->is_stale);
		emit_bool(&m->out, "is-open", o->image);
		emit_end(&m->out);
	}
	return NULL;
}

/* ---- what an address is ---------------------------------------------------------------------- */

/* The thread is that whose stack pointer is next below the address. */
pid_t stack_owner(struct mdb *m, const struct proc_map *map, taddr addr)
{
	taddr nearest = 0;
	pid_t owner = 0;

	for (uint32_t i = 0; i < m->tids.len; i++) {
		struct arch_regs regs;
		struct err *e = target_regs(m->t, m->tids.data[i], &regs);
		taddr sp = e ? 0 : regs.words[arch.sp / 8];

		err_destroy(e); /* a thread without registers has no stack that could be known */
		if (sp < map->start || sp > addr + STACK_RED_ZONE || sp < nearest)
			continue;
		nearest = sp;
		owner = m->tids.data[i];
	}
	return owner;
}

bool frame_of(struct mdb *m, pid_t tid, taddr addr, uint32_t *ret)
{
	struct stack s;
	bool is_found = false;

	stack_take(m, tid, &s);
	for (uint32_t i = 0; i < s.frames.len; i++) {
		if (s.frames.data[i].kind != REPLAY_NATIVE || s.frames.data[i].sp > addr)
			continue;
		*ret = i;
		is_found = true;
	}
	stack_free(&s);
	return is_found;
}

/* Tells which chunk of malloc the address is a part of; without such a heap, nothing. */
static void whatis_chunk(struct mdb *m, taddr addr)
{
	const struct chunk *at;
	struct heap *h;
	struct err *e = heap_get(m, &h);

	if (!e && (at = heap_chunk_at(h, addr))) {
		chunk_tell(m, h, at, addr);
		emit_say(&m->out, "in ");
	}
	err_destroy(e);
}

struct err *cmd_whatis(struct mdb *m, const struct call *c)
{
	const struct proc_map *map = proc_maps_find(target_maps(m->t), c->addr);
	struct strbuf name = {0};
	uint32_t frame;
	pid_t owner;

	emit_row(&m->out);
	emit_value(&m->out, c->addr);
	emit_addr(&m->out, "address", c->addr, 1);
	emit_say(&m->out, "is ");
	if (!map) {
		emit_say(&m->out, "in no mapping");
		emit_bool(&m->out, "is-mapped", false);
		emit_end(&m->out);
		return NULL;
	}
	emit_bool(&m->out, "is-mapped", true);
	if (mdb_name_add(m, c->addr, false, &name)) {
		emit_bytes(&m->out, "name", strbuf_text(&name), name.len, 1);
		emit_say(&m->out, "in ");
	}
	owner = !proc_map_has_file(map) && map->is_write ? stack_owner(m, map, c->addr) : 0;
	if (owner) {
		emit_say(&m->out, "in the stack of thread ");
		emit_int(&m->out, "stack-of", owner, 1);
		if (frame_of(m, owner, c->addr, &frame)) {
			emit_say(&m->out, "frame ");
			emit_int(&m->out, "frame", frame, 1);
		}
	}
	if (!owner && map->is_write)
		whatis_chunk(m, c->addr);
	emit_say(&m->out, "[%" PRIx64 ", %" PRIx64 ") ", map->start, map->end);
	emit_addr(&m->out, "mapping", map->start, 0);
	emit_str(&m->out, "file", *map->path ? map->path : "memory without a file", 1);
	emit_end(&m->out);
	strbuf_deinit(&name);
	return NULL;
}

/* ---- searches -------------------------------------------------------------------------------- */

/* The bytes that ::findptr or ::findstr looks for. */
struct wanted {
	const char *bytes;
	size_t len, align; /* align: of the addresses */
	uint32_t nfound;
};

static void found_tell(struct mdb *m, taddr addr)
{
	struct strbuf name = {0};

	emit_row(&m->out);
	emit_value(&m->out, addr);
	emit_addr(&m->out, "address", addr, 16);
	if (mdb_name_add(m, addr, false, &name))
		emit_bytes(&m->out, "name", strbuf_text(&name), name.len, 1);
	emit_end(&m->out);
	strbuf_deinit(&name);
}

static void chunk_search(struct mdb *m, struct wanted *w, taddr addr, const char *bytes, size_t len)
{
	const char *p = bytes;

	while (len >= w->len && w->nfound < FOUND_MAX &&
	       (p = memmem(p, len - (size_t)(p - bytes), w->bytes, w->len))) {
		taddr at = addr + (taddr)(p - bytes);

		if (at % w->align == 0) {
			found_tell(m, at);
			w->nfound++;
		}
		p++;
	}
}

/* Searches a mapping in pieces that overlap; pages that cannot be read are left out. */
static void map_search(struct mdb *m, struct wanted *w, const struct proc_map *map)
{
	char *bytes = xmalloc(CHUNK + w->len);
	size_t step = CHUNK;

	for (taddr at = map->start; at < map->end && !m->is_interrupted; at += step) {
		size_t n = (size_t)MIN((uint64_t)CHUNK + w->len - 1, map->end - at);

		step = CHUNK;
		if (!mdb_read(m, at, bytes, n)) {
			step = PAGE - at % PAGE;
			n = (size_t)MIN((uint64_t)step + w->len - 1, map->end - at);
			if (!mdb_read(m, at, bytes, n)) {
				n = (size_t)MIN((uint64_t)step, map->end - at);
				n = mdb_read(m, at, bytes, n) ? n : 0;
			}
		}
		chunk_search(m, w, at, bytes, n);
	}
	free(bytes);
}

static struct err *memory_search(struct mdb *m, struct wanted *w)
{
	const struct proc_maps *maps = target_maps(m->t);

	for (uint32_t i = 0; i < maps->maps.len && !m->is_interrupted; i++)
		map_search(m, w, &maps->maps.data[i]);
	return w->nfound < FOUND_MAX ? NULL
				     : err_new("there are more: the first %u are shown", FOUND_MAX);
}

struct err *cmd_findptr(struct mdb *m, const struct call *c)
{
	struct wanted w = {.bytes = (const char *)&c->addr, .len = sizeof(c->addr), .align = 8};

	return memory_search(m, &w);
}

struct err *cmd_findstr(struct mdb *m, const struct call *c)
{
	struct wanted w = {.bytes = c->argv[0], .len = strlen(c->argv[0]), .align = 1};

	if (!w.len || w.len > PAGE)
		return err_new("a text has 1 to %u bytes", PAGE);
	return memory_search(m, &w);
}
