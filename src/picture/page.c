/* SPDX-License-Identifier: MIT */
/* The frame of pictures, and text that is safe in them (page.h). */
#include "picture/page.h"

#include <sys/utsname.h>
#include <time.h>

#include "base/text.h"

#define NS_PER_SEC 1000000000ull

/* ---- text ---------------------------------------------------------------------------------- */

/* XML 1.0, 2.2: characters that a document may have. */
static bool is_allowed(uint32_t ch)
{
	return (ch >= 0x20 && ch != 0x7f && (ch < 0x80 || ch > 0x9f) && ch != 0xfffe &&
		ch != 0xffff) ||
	       ch == '\t' || ch == '\n';
}

static const char *entity_of(uint32_t ch)
{
	switch (ch) {
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '&': return "&amp;";
	case '"': return "&quot;";
	case '\'': return "&#39;";
	default: return NULL;
	}
}

void page_text(struct strbuf *o, const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		uint32_t ch = 0;
		size_t n = utf8_get(text + i, len - i, &ch);
		const char *entity = n ? entity_of(ch) : NULL;

		if (entity)
			strbuf_adds(o, entity);
		else if (n && is_allowed(ch))
			strbuf_add(o, text + i, n);
		else
			strbuf_adds(o, "\xef\xbf\xbd");
		i += n ? n : 1;
	}
}

void page_texts(struct strbuf *o, const char *text)
{
	page_text(o, text, strlen(text));
}

/* Characters beyond ASCII that JSON in a page must not have: JavaScript's ends of lines, too. */
static bool is_refused(uint32_t ch)
{
	return !is_allowed(ch) || ch == 0x2028 || ch == 0x2029;
}

void page_json(struct strbuf *o, const char *text, size_t len)
{
	static const struct escapes how = {.letters = "\"\"\\\\",
					   .also = "<>&'",
					   .other = "\\u%04x",
					   .broken = "\\ufffd",
					   .unit = "\\u%04x",
					   .is_unsafe = is_refused};

	escape_quote(o, text, len, &how);
}

void page_jsons(struct strbuf *o, const char *text)
{
	page_json(o, text, strlen(text));
}

/* ---- notes --------------------------------------------------------------------------------- */

void page_note(struct page_notes *n, bool bad, const char *fmt, ...)
{
	struct strbuf text = {0};
	va_list ap;

	if (n->list.len >= PAGE_NOTES) {
		n->nmore++;
		return;
	}
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	while (text.len && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	vec_push(&n->list, (struct page_note){text.data, bad});
}

void page_notes_deinit(struct page_notes *n)
{
	for (uint32_t i = 0; i < n->list.len; i++)
		free(n->list.data[i].text);
	vec_deinit(&n->list);
}

static void note_json(struct strbuf *o, const char *text, bool bad, bool is_first)
{
	strbuf_adds(o, is_first ? "{\"text\":" : ",{\"text\":");
	page_jsons(o, text);
	strbuf_adds(o, bad ? ",\"bad\":1}" : ",\"bad\":0}");
}

void page_notes_json(struct strbuf *o, const struct page_notes *n)
{
	strbuf_addc(o, '[');
	for (uint32_t i = 0; i < n->list.len; i++)
		note_json(o, n->list.data[i].text, n->list.data[i].bad, i == 0);
	if (n->nmore) {
		struct strbuf more = {0};

		strbuf_addf(&more, "%llu more message%s not listed here.",
			    (unsigned long long)n->nmore, WORD_FOR(n->nmore, " is", "s are"));
		note_json(o, more.data, true, n->list.len == 0);
		strbuf_deinit(&more);
	}
	strbuf_addc(o, ']');
}

/* ---- facts --------------------------------------------------------------------------------- */

static uint64_t wall_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t); /* cannot fail with this clock */
	return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

void page_facts_init(struct page_facts *f)
{
	struct utsname u;

	*f = (struct page_facts){.began = wall_now()};
	if (uname(&u) != 0)
		return;
	(void)snprintf(f->host, sizeof(f->host), "%.64s", u.nodename);
	(void)snprintf(f->kernel, sizeof(f->kernel), "%.64s", u.release);
	(void)snprintf(f->machine, sizeof(f->machine), "%.64s", u.machine);
}

static void time_format(struct strbuf *o, uint64_t ns, const char *fmt)
{
	time_t t = (time_t)(ns / NS_PER_SEC);
	char text[64];
	struct tm tm;

	if (gmtime_r(&t, &tm) && strftime(text, sizeof(text), fmt, &tm))
		strbuf_adds(o, text);
}

void page_time(struct strbuf *o, uint64_t ns)
{
	time_format(o, ns, "%H:%M:%S");
}

void page_date(struct strbuf *o, uint64_t ns)
{
	time_format(o, ns, "%Y-%m-%d %H:%M:%S UTC");
}

void page_duration(struct strbuf *o, const struct page_facts *f)
{
	strbuf_addf(o, "%.1f s", (double)(wall_now() - f->began) / 1e9);
}

void page_facts_add(struct strbuf *o, const struct page_facts *f)
{
	strbuf_addf(o, "%s, ", f->host);
	page_date(o, f->began);
	strbuf_adds(o, ", ");
	page_duration(o, f);
}

/* ---- the file ------------------------------------------------------------------------------ */

void page_style(struct strbuf *o, const struct picture_file *style)
{
	strbuf_adds(o, "<style>\n");
	strbuf_add(o, style->text, style->len);
	strbuf_adds(o, "</style>\n");
}

/* The script has neither "]]>" nor "</": tools/embed_text.py refuses files that have. */
void page_script(struct strbuf *o, const struct picture_file *script)
{
	strbuf_adds(o, "<script>");
	strbuf_add(o, script->text, script->len);
	strbuf_adds(o, "</script>\n");
}

void page_html_begin(struct strbuf *o, const char *title, const struct picture_file *const *styles,
		     size_t nstyles, const struct picture_file *const *scripts, size_t nscripts)
{
	strbuf_adds(o, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		       "<meta name=\"viewport\" content=\"width=device-width\">\n"
		       "<meta name=\"color-scheme\" content=\"light dark\">\n"
		       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		       "style-src 'unsafe-inline'; script-src");
	for (size_t i = 0; i < nscripts; i++)
		strbuf_addf(o, " '%s'", scripts[i]->hash);
	strbuf_adds(o, "\">\n<title>");
	page_texts(o, title);
	strbuf_adds(o, "</title>\n");
	for (size_t i = 0; i < nstyles; i++)
		page_style(o, styles[i]);
	strbuf_adds(o, "</head>\n<body>\n");
}

void page_begin(struct strbuf *o, bool as_html, const char *title, const struct picture_file *style,
		const struct picture_file *script, uint32_t width, uint32_t height)
{
	if (as_html) {
		page_html_begin(o, title, NULL, 0, &script, 1);
		strbuf_adds(o, "<style>body{margin:0;background:#fcfbf9}svg{display:block}"
			       "@media (prefers-color-scheme:dark){body{background:#15171c}}"
			       "</style>\n");
	} else {
		strbuf_adds(o, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	}
	strbuf_addf(o,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		    "viewBox=\"0 0 %u %u\">\n<title>",
		    width, height, width, height);
	page_texts(o, title);
	strbuf_adds(o, "</title>\n");
	page_style(o, style);
	strbuf_adds(o, "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n");
}

void page_data_begin(struct strbuf *o, bool as_html, const char *kind)
{
	if (as_html)
		strbuf_adds(o, "</svg>\n");
	strbuf_addf(o, "<script type=\"application/json\" class=\"%s-data\">", kind);
}

void page_end(struct strbuf *o, bool as_html, const struct picture_file *script)
{
	strbuf_adds(o, "</script>\n");
	if (as_html) {
		page_script(o, script);
		strbuf_adds(o, "</body>\n</html>\n");
		return;
	}
	strbuf_adds(o, "<script><![CDATA[");
	strbuf_add(o, script->text, script->len);
	strbuf_adds(o, "]]></script>\n</svg>\n");
}
