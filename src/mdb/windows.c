/* SPDX-License-Identifier: MIT */
/* ::windows: how much of files can be traced by jumps in place of traps (flow/flow.h). */
#include <errno.h>
#include <inttypes.h>

#include "files/gate.h"
#include "base/text.h"
#include "flow/flow.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "mdb/impl.h"
#include "target/target.h"

#define MS 1000000u /* nanoseconds */

struct row {
	const char *name;
	struct gate_file *file;
	bool is_long; /* with a head, and reasons */
};

static double share_percent(uint64_t n, uint64_t of)
{
	return of ? 100.0 * (double)n / (double)of : 0;
}

static void head_say(struct mdb *m)
{
	emit_say(&m->out, "%-24s %9s %6s %6s %6s %6s %9s %6s %6s %6s %6s %6s %7s\n", "FILE",
		 "FUNCTIONS", "FIRST", "BEHIND", "ARGS", "SHORT", "EXITS", "5-BYTE", "SHORT",
		 "NONE", "FULL", "+SHORT", "CPU MS");
}

static void counts_emit(struct mdb *m, const char *prefix, const struct flow_counts *c)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%s", prefix);
	emit_int(&m->out, name, c->n, 0);
	(void)snprintf(name, sizeof(name), "%s_long", prefix);
	emit_int(&m->out, name, c->lacks[FLOW_FITS], 0);
	(void)snprintf(name, sizeof(name), "%s_short", prefix);
	emit_int(&m->out, name, c->nshort, 0);
}

static void census_emit(struct mdb *m, const struct flow_census *n, uint64_t ms)
{
	counts_emit(m, "first", &n->at_entry);
	counts_emit(m, "entries", &n->entries);
	counts_emit(m, "exits", &n->exits);
	counts_emit(m, "all", &n->all);
	emit_int(&m->out, "args", n->nargs, 0);
	emit_int(&m->out, "full", n->nfull, 0);
	emit_int(&m->out, "full_short", n->nfull_short, 0);
	emit_bool(&m->out, "symbols", n->has_symbols);
	emit_int(&m->out, "code", (int64_t)n->code, 0);
	emit_int(&m->out, "marks", n->nmarks, 0);
	emit_int(&m->out, "tables", n->ntables, 0);
	emit_int(&m->out, "landings", n->nlandings, 0);
	emit_int(&m->out, "pointers", n->npointers, 0);
	emit_int(&m->out, "unknown", n->nunknown, 0);
	emit_int(&m->out, "ms", (int64_t)ms, 0);
}

static void census_say(struct mdb *m, const struct flow_census *n, uint64_t ms)
{
	const struct flow_counts *in = &n->entries, *out = &n->exits;
	uint32_t none = out->n - out->lacks[FLOW_FITS] - out->nshort;

	emit_say(&m->out,
		 " %9u %5.1f%% %5.1f%% %5.1f%% %5.1f%% %9u %5.1f%% %5.1f%% %5.1f%% %5.1f%% %5.1f%% "
		 "%7" PRIu64,
		 in->n, share_percent(n->at_entry.lacks[FLOW_FITS], in->n),
		 share_percent(in->lacks[FLOW_FITS], in->n), share_percent(n->nargs, in->n),
		 share_percent(in->nshort, in->n), out->n,
		 share_percent(out->lacks[FLOW_FITS], out->n), share_percent(out->nshort, out->n),
		 share_percent(none, out->n), share_percent(n->nfull, in->n),
		 share_percent(n->nfull_short, in->n), ms);
}

static void reasons_show(struct mdb *m, const struct flow_census *n)
{
	emit_say(&m->out, "\n%-52s %9s %9s %9s\n", "NO JUMP FITS BECAUSE OF", "FIRST", "BEHIND",
		 "EXITS");
	for (uint32_t i = FLOW_FITS + 1; i < FLOW_NLACKS; i++) {
		uint32_t first = n->at_entry.lacks[i], behind = n->entries.lacks[i],
			 exits = n->exits.lacks[i];

		if (!first && !behind && !exits)
			continue;
		emit_row(&m->out);
		emit_str(&m->out, "reason", flow_lack_text((enum flow_lack)i), -52);
		emit_int(&m->out, "first", first, 9);
		emit_int(&m->out, "behind", behind, 9);
		emit_int(&m->out, "exits", exits, 9);
		emit_end(&m->out);
	}
	emit_say(&m->out,
		 "\nControl can enter at %u place%s of %" PRIu64
		 " bytes: %u jump table%s, %u landing "
		 "pad%s,\n%u pointer%s in data; %u function%s to where is not known. "
		 "Functions are those of %s.\n",
		 n->nmarks, PLURAL(n->nmarks), n->code, n->ntables, PLURAL(n->ntables),
		 n->nlandings, PLURAL(n->nlandings), n->npointers, PLURAL(n->npointers),
		 n->nunknown, WORD_FOR(n->nunknown, " jumps", "s jump"),
		 n->has_symbols ? "the symbol table" : ".eh_frame");
}

/* Reads the code of a file, and adds its row. */
static struct err *file_show(struct mdb *m, const struct row *r)
{
	uint64_t begin = worked_ns(), ms;
	struct flow_census n;
	struct flow *f = NULL;
	struct err *e = flow_create(r->file, m->files->limit, &f);

	if (!e)
		e = flow_census(f, &n);
	flow_destroy(f);
	if (e)
		return e;
	ms = (worked_ns() - begin) / MS;
	if (r->is_long)
		head_say(m);
	emit_row(&m->out);
	emit_str(&m->out, "file", r->name, -24);
	census_emit(m, &n, ms);
	census_say(m, &n, ms);
	emit_end(&m->out);
	if (r->is_long)
		reasons_show(m, &n);
	return NULL;
}

static struct err *path_show(struct mdb *m, const char *path)
{
	struct gate *g = gate_create();
	struct gate_file *file = gate_open_path(g, -1, path);
	struct err *e = file ? NULL : err_sys(errno, "cannot open '%s'", path);
	const char *slash = strrchr(path, '/');

	if (!e) {
		e = file_show(m, &(struct row){slash ? slash + 1 : path, file, true});
		if (e)
			e = err_wrap(e, "'%s'", path);
	}
	gate_file_close(file);
	gate_destroy(g);
	return e;
}

static struct err *object_show(struct mdb *m, const struct mdb_object *o, bool is_long)
{
	struct gate_file *file = o->image ? o->image->opened : NULL;
	struct err *e;

	if (!file)
		return err_new("'%s': its file is not there", o->name);
	e = file_show(m, &(struct row){o->name, file, is_long});
	return e ? err_wrap(e, "'%s'", o->name) : NULL;
}

/* The files that are mapped; those without code, or of which it cannot be read, are left out. */
static void objects_show(struct mdb *m)
{
	head_say(m);
	for (uint32_t i = 0; i < m->objects.len && !m->is_interrupted; i++)
		err_destroy(object_show(m, &m->objects.data[i], false));
}

struct err *cmd_windows(struct mdb *m, const struct call *c)
{
	const struct mdb_object *o = c->argc ? mdb_object_named(m, c->argv[0]) : NULL;

	if (!c->argc) {
		objects_show(m);
		return NULL;
	}
	if (!o || strchr(c->argv[0], '/'))
		return path_show(m, c->argv[0]);
	return object_show(m, o, true);
}
