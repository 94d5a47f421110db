/* SPDX-License-Identifier: MIT */
/* Reads and writes folded stacks (folded.h). */
#include "picture/folded.h"

#include <errno.h>

#include "base/vec.h"
#include "kernel/withheld.h"

#define FRAMES_MAX 4096

struct row {
	size_t off, len; /* of the stack in text */
	int64_t value;
};

struct folded {
	char *text;
	size_t len;
	VEC(struct row) rows;
};

void folded_name(struct strbuf *o, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		strbuf_addc(o, text[i] == ';' ? ':' : text[i] == '\n' ? ' ' : text[i]);
}

/* Parses one line without its newline; false: it is no stack. */
static bool row_parse(const char *text, size_t len, struct row *ret)
{
	size_t at = len;
	char *end;

	while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	if (at == len || at < 2 || text[at - 1] != ' ' || len - at > 19)
		return false;
	errno = 0;
	ret->value = strtoll(text + at, &end, 10);
	ret->len = at - 1;
	return !errno;
}

static struct err *rows_parse(struct folded *f, const char *path)
{
	unsigned int line = 0;

	for (size_t at = 0; at < f->len;) {
		const char *nl = memchr(f->text + at, '\n', f->len - at);
		size_t len = nl ? (size_t)(nl - f->text) - at : f->len - at;
		struct row row = {.off = at};

		line++;
		if (len && row_parse(f->text + at, len, &row))
			vec_push(&f->rows, row);
		else if (len)
			return err_hint(
				err_new("%s:%u: this line is no folded stack", path, line),
				"a line has frames, separated by ';', a blank and a number: "
				"-x oformat=folded -o FILE writes such files");
		at += len + 1;
	}
	return NULL;
}

struct err *folded_open(const char *path, struct folded **ret)
{
	CLEANUP(file) FILE *fp = fopen(path, "re");
	struct folded *f;
	struct strbuf text = {0};
	struct err *e;
	size_t got;

	if (!fp)
		return err_sys(errno, "cannot open '%s'", path);
	e = withheld_check(fileno(fp), path);
	if (e)
		return e;
	do {
		got = fread(strbuf_room(&text, 1 << 16), 1, 1 << 16, fp);
		strbuf_wrote(&text, got);
	} while (got);
	if (ferror(fp)) {
		strbuf_deinit(&text);
		return err_sys(errno, "cannot read '%s'", path);
	}
	f = xcalloc(1, sizeof(*f));
	f->text = text.data;
	f->len = text.len;
	e = rows_parse(f, path);
	if (e)
		folded_close(f);
	else
		*ret = f;
	return e;
}

void folded_close(struct folded *f)
{
	if (!f)
		return;
	free(f->text);
	vec_deinit(&f->rows);
	free(f);
}

void folded_walk(const struct folded *f, folded_row_f *func, void *ctx)
{
	const char *names[FRAMES_MAX];
	size_t lens[FRAMES_MAX];

	for (uint32_t i = 0; i < f->rows.len; i++) {
		const struct row *r = &f->rows.data[i];
		const char *at = f->text + r->off, *end = at + r->len;
		uint32_t n = 0;

		while (at <= end && n < FRAMES_MAX) {
			const char *sep = memchr(at, ';', (size_t)(end - at));

			names[n] = at;
			lens[n++] = (size_t)((sep ? sep : end) - at);
			at = (sep ? sep : end) + 1;
		}
		func(ctx, names, lens, n, r->value);
	}
}
