/* Options ctypes and dtypes: the type table as text in files, when the handle is closed. */
#include <errno.h>

#include "session/session.h"

static void dump_to(dtrace_hdl_t *h, enum opt_id opt, bool imported)
{
	const char *path = h->opts.str[opt];
	struct strbuf text = {0};
	FILE *f;
	bool is_written;

	if (!path)
		return;
	types_dump(dsession_types(h->dsession), imported, &text);
	f = fopen(path, "we");
	is_written = f && fwrite(strbuf_text(&text), 1, text.len, f) == text.len;
	if ((f && fclose(f) != 0) || !is_written)
		report_adjusted(&h->report, "option '%s': cannot write '%s': %s\n",
				opt_descs[opt].name, path, strerror(errno));
	strbuf_deinit(&text);
}

void session_dump_types(dtrace_hdl_t *h)
{
	if (!h->dsession)
		return;
	dump_to(h, OPT_ctypes, true);
	dump_to(h, OPT_dtypes, false);
}
