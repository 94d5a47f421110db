/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: what dtrace -h and -G read. The first byte chooses: an object file in which calls of
 * probes are replaced, or the text of a provider definition, of which a header and a probe object
 * are made. What is made must be readable again, and a second run must find nothing to do.
 */
#include <fcntl.h>
#include <gelf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit/d/check_eval.h"
#include "files/gate.h"
#include "usdt/classic.h"
#include "usdt/dof.h"
#include "usdt/header.h"
#include "usdt/note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct usdt_arg args[] = {
	{"int", "int", USDT_INTEGER, 4, true, false},
	{"string", "const char *", USDT_TEXT, 8, false, true},
	{"long", "long", USDT_INTEGER, 8, true, true},
	{"double", "double", USDT_FLOAT, 8, false, false},
	{"uint8_t", "unsigned char", USDT_INTEGER, 1, false, false},
	{"int64_t", "__dtrace_int64", USDT_INTEGER, 8, true, false},
	{"short", "short", USDT_INTEGER, 2, true, false},
	{"int", "int", USDT_INTEGER, 4, true, false},
};
static const struct usdt_probe probes[] = {
	{.name = "query-start", .cname = "query__start", .args = args, .nargs = 3},
	{.name = "many", .cname = "many", .args = args, .nargs = ARRAY_LEN(args)},
	{.name = "ratio", .cname = "ratio", .args = args + 2, .nargs = 2},
	{.name = "idle", .cname = "idle", .args = args, .nargs = 0},
	{.name = "tail", .cname = "tail", .args = args, .nargs = 1},
};
static const struct usdt_provider my_app = {.name = "my_app",
					    .probes = probes,
					    .nprobes = ARRAY_LEN(probes)};

static uint8_t *file_read(int fd, size_t *ret_size)
{
	struct stat st;
	uint8_t *bytes;

	if (fstat(fd, &st) != 0)
		BUG("fstat");
	*ret_size = (size_t)st.st_size;
	bytes = xmalloc(*ret_size + 1);
	if (pread(fd, bytes, *ret_size, 0) != (ssize_t)*ret_size)
		BUG("pread");
	return bytes;
}

/* Reads a probe object as a tracer would read the program that it is linked into. */
static void object_check(int fd, bool has_description)
{
	size_t size;
	CLEANUP(free) uint8_t *bytes = file_read(fd, &size);
	struct usdt_notes notes;
	struct gate_elf g;

	gate_elf_memory((char *)bytes, size, GATE_LIMIT_DEFAULT, &g);
	if (!g.elf)
		BUG("the probe object is no ELF file");
	usdt_notes_read(&g, &notes);
	if (notes.list.len && has_description && !notes.dof.len)
		BUG("the probe object has no description");
	usdt_notes_deinit(&notes);
	gate_elf_close(&g);
}

/* Writes the probe object that belongs to objects, with the functions that they still call. */
static void functions_check(struct object_kind kind, const struct classic *c)
{
	CLEANUP(fd) int fd = memfd_create("probes.o", MFD_CLOEXEC);
	struct err *e = object_write(&my_app, 1, &(struct dof_image){0}, kind, fd);

	if (!e && c->has_any)
		e = classic_define(fd, "probes.o", &my_app, 1, c);
	if (e)
		BUG("%s", err_text(e));
	object_check(fd, true);
}

static void object_replace_check(const uint8_t *data, size_t size)
{
	static char path[64];
	char *const paths[] = {path};
	struct object_kind kind = {0};
	struct err *e = NULL;

	if (!*path)
		(void)snprintf(path, sizeof(path), "/dev/shm/fuzz-%d.o", (int)getpid());
	for (int i = 0; i < 2 && !e; i++) {
		CLEANUP(fd) int fd = -1;
		struct classic c = {0};
		struct stat before = {0}, after = {0};

		if (!i) {
			fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
			if (fd < 0 || write(fd, data, size) != (ssize_t)size)
				BUG("cannot write %s", path);
		}
		(void)stat(path, &before);
		e = object_kind_of(paths, 1, &kind);
		if (!e)
			e = classic_replace(paths, 1, kind, &my_app, 1, &c);
		if (i && e)
			BUG("a changed object is refused: %s", err_text(e));
		if (stat(path, &after) != 0 || (i && before.st_ino != after.st_ino))
			BUG("a second run changes the object");
		if (!e && kind.machine && (c.has_any || after.st_size != (off_t)size))
			functions_check(kind, &c);
		classic_deinit(&c);
	}
	err_destroy(e);
	(void)unlink(path);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static void description_check(const struct usdt_provider *pv, const struct usdt_probe *p,
			      struct dof_index *ix)
{
	struct arena *a = arena_create();
	struct dof_probe_info info;

	if (!dof_index_find(ix, pv->name, p->name, a, &info))
		BUG("%s:%s is not described", pv->name, p->name);
	if (info.nargs != p->nargs || info.nxargs != p->nxargs)
		BUG("%s:%s has %u arguments", pv->name, p->name, info.nargs);
	arena_destroy(a);
}

static void providers_check(struct dsession *s)
{
	CLEANUP(fd) int fd = memfd_create("probes.o", MFD_CLOEXEC);
	struct arena *a = arena_create();
	const struct usdt_provider *pvs;
	struct dof_image dof = {0};
	struct strbuf header = {0};
	struct dof_index *ix;
	struct err *e;
	uint32_t n;

	e = dsession_usdt(s, a, &pvs, &n);
	if (!e && n)
		e = usdt_header(pvs, n, "probes.h", "probes.d", &header);
	if (!e)
		e = object_write(pvs, n, &(struct dof_image){0},
				 (struct object_kind){.machine = EM_X86_64}, fd);
	if (e)
		BUG("what compiles cannot be built: %s", err_text(e));
	object_check(fd, n > 0);
	if (n)
		dof_write(pvs, n, true, &dof);
	ix = dof_index_create(dof.bytes.data, dof.bytes.len);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < pvs[i].nprobes; k++)
			description_check(&pvs[i], &pvs[i].probes[k], ix);
	if (dof_index_is_damaged(ix))
		BUG("the description of %u providers counts as damaged", n);
	dof_index_destroy(ix);
	dof_image_deinit(&dof);
	strbuf_deinit(&header);
	arena_destroy(a);
}

static void definition_check(const uint8_t *data, size_t size)
{
	static char *argv[] = {"fuzz.d"};
	CLEANUP(free) char *text = xmalloc(size + 1);
	struct prog *prog;
	struct eval v = {0};
	struct err *e;

	memcpy(text, data, size);
	check_env_init(&v.env);
	v.env.opts.zdefs = v.env.opts.empty = true;
	v.env.opts.hash_comments = v.env.opts.builds_programs = true;
	e = dsession_compile(v.env.session, &v.env.opts, &v.env.env, SOURCE_FILE, "fuzz.d", text,
			     size, SPEC_CTX_NAME, 1, argv, &prog);
	if (!e)
		providers_check(v.env.session);
	err_destroy(e);
	eval_deinit(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] == 0)
		object_replace_check(data + 1, size - 1);
	else if (data[0] == 1)
		definition_check(data + 1, size - 1);
	else /* a script of another test */
		definition_check(data, size);
	return 0;
}
