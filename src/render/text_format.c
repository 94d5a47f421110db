/* SPDX-License-Identifier: MIT */
/* The conversions of printf (d-language.md 6.3). */
#include <netdb.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

#include "base/text.h"
#include "render/impl.h"

/* ---- text ---------------------------------------------------------------------------------- */

static size_t utf8_put(char *buf, uint32_t ch)
{
	if (ch < 0x80) {
		buf[0] = (char)ch;
		return 1;
	}
	if (ch < 0x800) {
		buf[0] = (char)(0xc0 | ch >> 6);
		buf[1] = (char)(0x80 | (ch & 0x3f));
		return 2;
	}
	if (ch < 0x10000) {
		buf[0] = (char)(0xe0 | ch >> 12);
		buf[1] = (char)(0x80 | (ch >> 6 & 0x3f));
		buf[2] = (char)(0x80 | (ch & 0x3f));
		return 3;
	}
	if (ch < 0x110000) {
		buf[0] = (char)(0xf0 | ch >> 18);
		buf[1] = (char)(0x80 | (ch >> 12 & 0x3f));
		buf[2] = (char)(0x80 | (ch >> 6 & 0x3f));
		buf[3] = (char)(0x80 | (ch & 0x3f));
		return 4;
	}
	buf[0] = '?';
	return 1;
}

static void wide_string(struct printer *p, struct strbuf *o, const struct spec *s,
			const struct datum *d)
{
	struct strbuf text = {0};

	for (uint32_t i = 0; i + 4 <= d->size; i += 4) {
		uint32_t ch;
		size_t len;
		char buf[4];

		memcpy(&ch, d->bytes + i, sizeof(ch));
		if (!ch)
			break;
		len = utf8_put(buf, ch);
		strbuf_add(&text, buf, len);
	}
	datum_text_add(p, o, s, d, strbuf_text(&text), text.len);
	strbuf_deinit(&text);
}

static bool is_addr(enum datum_kind kind)
{
	return kind >= DATUM_SYM && kind <= DATUM_UADDR;
}

/* Prints a value that the front end should not accept for the conversion, by its own kind. */
static void conv_other(struct printer *p, struct strbuf *o, const struct spec *s,
		       const struct datum *d)
{
	struct strbuf text = {0};

	if (is_addr(d->kind)) {
		uint64_t pid, addr;

		addr_of_datum(d, &pid, &addr);
		addr_text(p, &text, pid, addr, addr_form_of(d->kind));
	} else {
		out_int(&text, -1, datum_int(d), d->is_signed);
	}
	out_text(o, s, text.data, text.len);
	strbuf_deinit(&text);
}

static bool is_text(const struct datum *d)
{
	return d->bytes && (d->kind == DATUM_STRING || d->kind == DATUM_BYTES);
}

static void conv_string(struct printer *p, struct strbuf *o, const struct conv *c,
			const struct spec *s, const struct datum *d)
{
	if (!is_text(d))
		conv_other(p, o, s, d);
	else if (c->is_long)
		wide_string(p, o, s, d);
	else
		datum_text_add(p, o, s, d, d->bytes, strnlen(d->bytes, d->size));
}

static void conv_escaped(struct printer *p, struct strbuf *o, const struct conv *c,
			 const struct spec *s, const struct datum *d)
{
	struct strbuf text = {0};

	if (is_text(d))
		escape_add(&text, d->bytes, strnlen(d->bytes, d->size), &escapes_c);
	out_text(o, s, text.data, text.len);
	strbuf_deinit(&text);
}

/* A word of a shell. What is cut off by the precision is cut off before it is quoted. */
static void conv_quoted(struct printer *p, struct strbuf *o, const struct conv *c,
			const struct spec *s, const struct datum *d)
{
	const struct spec cut = {0, -1, s->prec}, field = {s->flags, s->width, -1};
	struct strbuf text = {0}, word = {0};

	if (is_text(d))
		out_text(&text, &cut, d->bytes, strnlen(d->bytes, d->size));
	else
		conv_other(p, &text, &cut, d);
	shell_quote(&word, strbuf_text(&text), text.len);
	datum_text_add(p, o, &field, d, word.data, word.len);
	strbuf_deinit(&text);
	strbuf_deinit(&word);
}

static void conv_char(struct printer *p, struct strbuf *o, const struct conv *c,
		      const struct spec *s, const struct datum *d)
{
	struct spec whole = {s->flags, s->width, -1};
	char buf[4];
	size_t len = 1;

	buf[0] = (char)datum_int(d);
	if (c->is_long)
		len = utf8_put(buf, (uint32_t)datum_int(d));
	datum_text_add(p, o, &whole, d, buf, len);
}

static void conv_escaped_char(struct printer *p, struct strbuf *o, const struct conv *c,
			      const struct spec *s, const struct datum *d)
{
	/* A single character needs no escape for a quote or a backslash. */
	static const struct escapes how = {.letters = "\aa\bb\ff\nn\rr\tt\vv",
					   .nul = "\\0",
					   .other = "\\%03o"};
	char ch = (char)datum_int(d);
	struct spec whole = {s->flags, s->width, -1};
	struct strbuf text = {0};

	escape_add(&text, &ch, 1, &how);
	out_text(o, &whole, text.data, text.len);
	strbuf_deinit(&text);
}

/* ---- numbers ------------------------------------------------------------------------------- */

static uint64_t truncated(const struct datum *d)
{
	uint64_t v = datum_int(d);

	return d->size < 8 && d->size > 0 ? v & (((uint64_t)1 << d->size * 8) - 1) : v;
}

static void conv_decimal(struct printer *p, struct strbuf *o, const struct conv *c,
			 const struct spec *s, const struct datum *d)
{
	if (d->is_signed)
		out_signed(o, s, (int64_t)datum_int(d));
	else
		out_unsigned(o, s, truncated(d), 10, false);
}

static void conv_unsigned(struct printer *p, struct strbuf *o, const struct conv *c,
			  const struct spec *s, const struct datum *d)
{
	unsigned int base = c->conv == 'u' ? 10 : c->conv == 'o' ? 8 : 16;

	out_unsigned(o, s, truncated(d), base, c->conv == 'X');
}

/* The value of a float, double or long double, from a number or from bytes. */
static long double float_of(const struct datum *d)
{
	uint64_t v = datum_int(d);
	long double ld = 0;
	double dbl;
	float flt;

	switch (d->size) {
	case sizeof(flt): memcpy(&flt, &v, sizeof(flt)); return (long double)flt;
	case sizeof(dbl): memcpy(&dbl, &v, sizeof(dbl)); return (long double)dbl;
	case sizeof(ld):
		if (d->bytes)
			memcpy(&ld, d->bytes, sizeof(ld));
		return ld;
	default: return 0;
	}
}

static void conv_float(struct printer *p, struct strbuf *o, const struct conv *c,
		       const struct spec *s, const struct datum *d)
{
	struct spec whole = {s->flags, s->width, -1};
	char fmt[16], *f = fmt;
	long double v = float_of(d);
	struct strbuf text = {0};

	*f++ = '%';
	if (s->flags & CONV_SIGN)
		*f++ = '+';
	if (s->flags & CONV_SPACE)
		*f++ = ' ';
	if (s->flags & CONV_ALT)
		*f++ = '#';
	if ((s->flags & (CONV_ZERO | CONV_LEFT)) == CONV_ZERO)
		*f++ = '0';
	memcpy(f, "*.*L", 4);
	f[4] = c->conv;
	f[5] = '\0';
	strbuf_addf(&text, fmt, s->flags & CONV_ZERO && s->width > 0 ? MIN(s->width, 4096) : 0,
		    MIN(s->prec, 4096), v);
	out_text(o, &whole, text.data, text.len);
	strbuf_deinit(&text);
}

/* ---- times --------------------------------------------------------------------------------- */

static void out_time(struct strbuf *o, const struct spec *s, const struct datum *d, const char *fmt)
{
	time_t sec = (time_t)((int64_t)datum_int(d) / 1000000000);
	char buf[128];
	struct tm tm;
	size_t len = localtime_r(&sec, &tm) ? strftime(buf, sizeof(buf), fmt, &tm) : 0;

	out_text(o, s, buf, len);
}

static void conv_rfc822(struct printer *p, struct strbuf *o, const struct conv *c,
			const struct spec *s, const struct datum *d)
{
	out_time(o, s, d, "%a, %d %b %Y %T %Z");
}

static void conv_year(struct printer *p, struct strbuf *o, const struct conv *c,
		      const struct spec *s, const struct datum *d)
{
	out_time(o, s, d, "%Y %b %e %T");
}

/* ---- network ------------------------------------------------------------------------------- */

static bool host_name(const char *text, char *host, size_t size)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return !getnameinfo((struct sockaddr *)&v4, sizeof(v4), host, (socklen_t)size, NULL,
				    0, NI_NAMEREQD);
	if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		return !getnameinfo((struct sockaddr *)&v6, sizeof(v6), host, (socklen_t)size, NULL,
				    0, NI_NAMEREQD);
	return false;
}

static void conv_host(struct printer *p, struct strbuf *o, const struct conv *c,
		      const struct spec *s, const struct datum *d)
{
	static const struct datum name = {0}; /* whoever owns the address has chosen its name */
	char text[INET6_ADDRSTRLEN] = "", host[256];
	size_t len = is_text(d) ? strnlen(d->bytes, d->size) : 0;

	if (len < sizeof(text) && len)
		memcpy(text, d->bytes, len);
	if (text[0] && host_name(text, host, sizeof(host)))
		datum_text_add(p, o, s, &name, host, strlen(host));
	else
		conv_string(p, o, c, s, d);
}

static void conv_port(struct printer *p, struct strbuf *o, const struct conv *c,
		      const struct spec *s, const struct datum *d)
{
	uint16_t port = (uint16_t)datum_int(d);
	struct servent entry, *sv = NULL;
	char number[8],
		room[1024]; /* for names and aliases; if it is too small, the number is shown */

	if (getservbyport_r(htons(port), NULL, &entry, room, sizeof(room), &sv) == 0 && sv)
		out_text(o, s, sv->s_name, strlen(sv->s_name));
	else
		out_text(o, s, number, (size_t)snprintf(number, sizeof(number), "%u", port));
}

/* ---- addresses ----------------------------------------------------------------------------- */

static void conv_addr(struct printer *p, struct strbuf *o, const struct conv *c,
		      const struct spec *s, const struct datum *d)
{
	struct strbuf text = {0};
	uint64_t pid, addr;

	addr_of_datum(d, &pid, &addr);
	if (c->conv == 'A' && !pid)
		pid = p->opts->target_pid;
	addr_text(p, &text, pid, addr, addr_form_of(d->kind));
	out_text(o, s, text.data, text.len);
	strbuf_deinit(&text);
}

static void conv_stack(struct printer *p, struct strbuf *o, const struct conv *c,
		       const struct spec *s, const struct datum *d)
{
	bool indents = (s->flags & CONV_LEFT) && s->width > 0;

	print_stack(p, o, d, indents ? (uint32_t)MIN(s->width, 4096) : 0);
}

/* ---- table --------------------------------------------------------------------------------- */

/* sizes: those that the language allows, separated by spaces, besides the empty one. */
static const struct conv_desc {
	char conv;
	const char *sizes;
	conv_func *print;
} conv_descs[] = {
	/* clang-format off */
	{ 'd', "h l ll",  conv_decimal },
	{ 'i', "h l ll",  conv_decimal },
	{ 'o', "h l ll",  conv_unsigned },
	{ 'u', "h l ll",  conv_unsigned },
	{ 'x', "h l ll",  conv_unsigned },
	{ 'X', "h l ll",  conv_unsigned },
	{ 'p', "",        conv_unsigned },
	{ 'c', "l w",     conv_char },
	{ 'C', "",        conv_escaped_char },
	{ 'e', "L",       conv_float },
	{ 'E', "L",       conv_float },
	{ 'f', "L",       conv_float },
	{ 'g', "L",       conv_float },
	{ 'G', "L",       conv_float },
	{ 's', "l w",     conv_string },
	{ 'S', "",        conv_escaped },
	{ 'q', "",        conv_quoted },
	{ 'a', "",        conv_addr },
	{ 'A', "",        conv_addr },
	{ 'k', "",        conv_stack },
	{ 'T', "",        conv_rfc822 },
	{ 'Y', "",        conv_year },
	{ 'I', "",        conv_host },
	{ 'P', "",        conv_port },
	/* clang-format on */
};

static const struct conv_desc *conv_find(char conv)
{
	for (size_t i = 0; i < ARRAY_LEN(conv_descs); i++)
		if (conv_descs[i].conv == conv)
			return &conv_descs[i];
	return NULL;
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *w = words; *w; w += strcspn(w, " "), w += *w == ' ')
		if (strcspn(w, " ") == len && memcmp(w, word, len) == 0)
			return true;
	return false;
}

bool fmt_has_conv(char conv, const char *size)
{
	const struct conv_desc *desc = conv_find(conv);

	return desc && (!*size || has_word(desc->sizes, size));
}

/* ---- formats ------------------------------------------------------------------------------- */

static struct conv conv_prepare(const struct prog_conv *src)
{
	const struct conv_desc *desc = src->conv ? conv_find(src->conv) : NULL;
	struct conv c = {.literal = src->literal, .literal_len = src->literal_len};

	if (src->conv && !desc)
		BUG("conversion '%%%c' has no row", src->conv); /* the front end refuses it */
	c.conv = src->conv;
	c.print = desc ? desc->print : NULL;
	c.is_long = desc && (src->size[0] == 'l' || src->size[0] == 'w') &&
		    (src->conv == 's' || src->conv == 'c');
	/* A precision of 0 has no effect. */
	c.part = src->part;
	c.spec = (struct spec){src->flags, src->width, src->prec > 0 ? src->prec : -1};
	return c;
}

bool fmt_quotes(const struct fmt *f)
{
	for (uint32_t i = 0; i < f->nconvs; i++)
		if (f->convs[i].conv == 'q')
			return true;
	return false;
}

const struct fmt *fmt_prepare(struct arena *a, const struct prog_fmt *src)
{
	struct fmt *f = ARENA_NEW(a, struct fmt);

	f->nconvs = src->nconvs;
	f->convs = ARENA_NEW_N(a, struct conv, src->nconvs);
	for (uint32_t i = 0; i < src->nconvs; i++)
		f->convs[i] = conv_prepare(&src->convs[i]);
	return f;
}

static int clamp_int(int64_t v)
{
	return (int)MAX((int64_t)-INT32_MAX, MIN(v, (int64_t)INT32_MAX));
}

/* Reads width and precision that are arguments. A negative width means CONV_LEFT. */
static bool spec_args(struct spec *s, struct fmt_args *args)
{
	struct datum d;

	if (s->flags & CONV_WIDTH_ARG) {
		if (!args->next(args, &d))
			return false;
		s->width = clamp_int((int64_t)datum_int(&d));
		if (s->width < 0) {
			s->width = -s->width;
			s->flags |= CONV_LEFT;
		}
	}
	if (s->flags & CONV_PREC_ARG) {
		if (!args->next(args, &d))
			return false;
		s->prec = clamp_int((int64_t)datum_int(&d));
		if (s->prec <= 0)
			s->prec = -1;
	}
	return true;
}

static void conv_print(struct printer *p, struct strbuf *o, const struct conv *c,
		       struct fmt_args *args)
{
	struct spec with_args;
	const struct spec *s = &c->spec;
	struct datum d;

	if (s->flags & (CONV_WIDTH_ARG | CONV_PREC_ARG)) {
		with_args = *s;
		if (!spec_args(&with_args, args))
			return;
		s = &with_args;
	}
	if (s->flags & CONV_AGG) {
		if (args->agg)
			args->agg(args, p, o, c, s);
		return;
	}
	if (args->next(args, &d))
		c->print(p, o, c, s, &d);
}

void fmt_print(struct printer *p, struct strbuf *o, const struct fmt *f, struct fmt_args *args)
{
	for (uint32_t i = 0; i < f->nconvs; i++) {
		const struct conv *c = &f->convs[i];

		strbuf_add(o, c->literal, c->literal_len);
		if (c->print)
			conv_print(p, o, c, args);
	}
}

/* ---- formats of actions --------------------------------------------------------------------- */

/* The fields of an action as arguments of its format. */
struct field_args {
	struct fmt_args args;
	struct printer *p;
	const struct act_layout *al;
	uint32_t next;
	struct err *err; /* the first error; NULL: none yet */
};

static bool field_next(struct fmt_args *args, struct datum *ret)
{
	struct field_args *f = CONTAINER_OF(args, struct field_args, args);

	if (!f->err)
		f->err = act_datum(f->p, f->al, f->next++, ret);
	return !f->err;
}

struct err *act_format(struct printer *p, struct strbuf *o, const struct act_layout *al,
		       const struct fmt *fmt)
{
	struct field_args f = {.args = {field_next, NULL}, .p = p, .al = al};

	if (fmt)
		fmt_print(p, o, fmt, &f.args);
	return f.err;
}
