/* SPDX-License-Identifier: MIT */
/* Options ctypes and dtypes: writes the type table as text when the handle is closed. */
#include <errno.h>

#include "kernel/withheld.h"
#include "session/compiler.h"
#include "session/options.h"
#include "session/report.h"

static void dump_to(const struct compiler *c, enum opt_id opt, bool imported)
{
	const char *path = c->opts->str[opt];
	struct strbuf text = {0};
	FILE *f;
	struct err *e;
	bool is_written;

	if (!path)
		return;
	types_dump(dsession_types(c->dsession), imported, &text);
	f = fopen(path, "we");
	e = f ? withheld_check(fileno(f), path) : NULL;
	if (e) {
		report_adjusted(c->report, "option '%s': %s\n", opt_descs[opt].name, err_text(e));
		err_destroy(e);
		(void)fclose(f);
		strbuf_deinit(&text);
		return;
	}
	is_written = f && fwrite(strbuf_text(&text), 1, text.len, f) == text.len;
	if ((f && fclose(f) != 0) || !is_written)
		report_adjusted(c->report, "option '%s': cannot write '%s': %s\n",
				opt_descs[opt].name, path, strerror(errno));
	strbuf_deinit(&text);
}

void compiler_dump_types(const struct compiler *c)
{
	if (!c->dsession)
		return;
	dump_to(c, OPT_ctypes, true);
	dump_to(c, OPT_dtypes, false);
}
