/* SPDX-License-Identifier: MIT */
/* Reads what a process has appended to its perf-PID.map, and finds the names of addresses. */
#include "sym/perfmap.h"

#include "base/sorted.h"
#include "base/str.h"
#include "base/text.h"
#include "base/vec.h"
#include "files/gate.h"

#define FILE_MAX  ((off_t)1 << 30)
#define LINE_SIZE 4096 /* longer names are cut */
/* A lookup tries so many entries below an address, because code may lie inside older code. */
#define LOOK_BACK 64

struct entry {
	taddr start;
	uint64_t size;
	uint32_t line; /* number of the line: a later line describes newer code */
	uint32_t name; /* offset in text */
};

struct perfmap {
	struct gate_file *file;
	FILE *stream; /* reads the file; NULL: there is no memory for it */
	uint64_t at;  /* of the stream, in the file */
	off_t read;   /* offset in the file up to which its lines have been read */
	uint32_t nlines;
	VEC(struct entry) entries; /* ascending; of one start, the oldest comes first */
	struct strbuf text;	   /* NUL-terminated names */
	uint64_t used;
};

static ssize_t stream_read(void *cookie, char *to, size_t size)
{
	struct perfmap *m = cookie;
	ssize_t n = gate_file_read(m->file, to, size, m->at);

	m->at += n > 0 ? (uint64_t)n : 0;
	return n;
}

static int stream_seek(void *cookie, off64_t *off, int whence)
{
	struct perfmap *m = cookie;

	if (whence == SEEK_SET)
		m->at = (uint64_t)*off;
	else if (whence == SEEK_CUR)
		m->at += (uint64_t)*off;
	else
		return -1;
	*off = (off64_t)m->at;
	return 0;
}

struct perfmap *perfmap_create(struct gate_file *file)
{
	static const cookie_io_functions_t functions = {.read = stream_read, .seek = stream_seek};
	struct perfmap *m = xcalloc(1, sizeof(*m));

	m->file = file;
	m->stream = fopencookie(m, "r", functions);
	return m;
}

void perfmap_destroy(struct perfmap *m)
{
	if (!m)
		return;
	if (m->stream)
		(void)fclose(m->stream);
	gate_file_close(m->file);
	vec_deinit(&m->entries);
	strbuf_deinit(&m->text);
	free(m);
}

static void add_line(struct perfmap *m, char *line)
{
	char *end, *name;
	struct entry e = {.line = m->nlines++, .name = (uint32_t)m->text.len};

	e.start = strtoull(line, &end, 16);
	if (end == line)
		return;
	line = end;
	e.size = strtoull(line, &end, 16);
	name = end + strspn(end, " \t");
	name[strcspn(name, "\r\n")] = '\0';
	(void)text_clean(name);
	if (end == line || !*name || !e.size || e.size > UINT64_MAX - e.start)
		return;
	strbuf_add(&m->text, name, strlen(name) + 1);
	vec_push(&m->entries, e);
}

static int entry_compare(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

/* Skips the rest of a line that is longer than the buffer. */
static void skip_line(FILE *f)
{
	int c;

	do
		c = getc(f);
	while (c != '\n' && c != EOF);
}

/* The file has become shorter, so the process has begun a new one. */
static void entries_clear(struct perfmap *m)
{
	m->read = 0;
	vec_clear(&m->entries);
	strbuf_clear(&m->text);
}

/*
 * Reads the lines that were appended since the last call. A last line without its newline is left
 * for the next call.
 */
static void lines_read(struct perfmap *m)
{
	char line[LINE_SIZE];
	uint32_t before = m->entries.len;
	off_t size;

	if (!m->stream || !gate_file_refresh(m->file))
		return;
	size = gate_file_stat(m->file)->st_size;
	if (size == m->read || size > FILE_MAX)
		return;
	if (size < m->read)
		entries_clear(m);
	clearerr(m->stream);
	if (fseeko(m->stream, m->read, SEEK_SET) != 0)
		return;
	while (m->text.len < INT32_MAX && fgets(line, sizeof(line), m->stream)) {
		if (!strchr(line, '\n')) {
			if (strlen(line) + 1 < sizeof(line))
				break;
			skip_line(m->stream);
		}
		add_line(m, line);
		m->read = ftello(m->stream);
	}
	if (m->entries.len != before)
		qsort(m->entries.data, m->entries.len, sizeof(*m->entries.data), entry_compare);
}

const char *perfmap_find(struct perfmap *m, taddr addr, taddr *ret_start)
{
	const struct entry *best = NULL;
	uint32_t lo, first;

	m->used = now_ns();
	lines_read(m);
	lo = sorted_upto(m->entries.data, m->entries.len, start, addr);
	first = lo > LOOK_BACK ? lo - LOOK_BACK : 0;
	for (uint32_t i = lo; i > first; i--) {
		const struct entry *e = &m->entries.data[i - 1];

		if (addr - e->start < e->size && (!best || e->line > best->line))
			best = e;
	}
	if (!best)
		return NULL;
	*ret_start = best->start;
	return m->text.data + best->name;
}

uint64_t perfmap_size(const struct perfmap *m)
{
	return m->entries.cap * sizeof(*m->entries.data) + m->text.cap;
}

uint64_t perfmap_used(const struct perfmap *m)
{
	return m->used;
}

void perfmap_shed(struct perfmap *m)
{
	entries_clear(m);
	m->nlines = 0;
	vec_deinit(&m->entries);
	strbuf_deinit(&m->text);
}
