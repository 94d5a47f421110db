/* SPDX-License-Identifier: MIT */
/* Mails of crashes. */
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "base/text.h"
#include "crash/format.h"
#include "crash/send.h"

#define SENDMAIL    "/usr/sbin/sendmail"
#define PAUSE_NS    60000000000ll
#define BODY_MAX    (100u << 10)
#define LINE_BYTES  900u
#define LATER_MAX   (32u << 10)
#define SUBJECT_MAX 150u
#define SECONDS	    30u

static int64_t real_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Whether an address can stand in a header, and be no option or command. */
static bool address_is_good(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f ||
		    strchr("|\"<>,;()", *p))
			return false;
	return *text && *text != '-';
}

static void header_add(struct strbuf *out, const char *name, const char *text)
{
	struct strbuf clean = {0};

	text_escape(&clean, text, strlen(text));
	strbuf_addf(out, "%s: ", name);
	for (size_t i = 0; i < clean.len && i < SUBJECT_MAX; i++)
		strbuf_addc(out,
			    clean.data[i] >= ' ' && clean.data[i] < 0x7f ? clean.data[i] : '?');
	strbuf_addc(out, '\n');
	strbuf_deinit(&clean);
}

/* Adds text in lines that mails may have. */
static void body_add(struct strbuf *out, const char *text, size_t len)
{
	size_t column = 0;

	for (size_t i = 0; i < len; i++) {
		bool is_inside = ((unsigned char)text[i] & 0xc0) == 0x80; /* of a character */

		if (column >= LINE_BYTES && text[i] != '\n' && !is_inside) {
			strbuf_addc(out, '\n');
			column = 0;
		}
		if (out->len >= BODY_MAX && !is_inside) {
			strbuf_adds(out, "\n(the rest is left out)\n");
			return;
		}
		strbuf_addc(out, text[i]);
		column = text[i] == '\n' ? 0 : column + 1;
	}
}

static struct err *mail_send(const struct pairs *config, const char *subject,
			     const struct strbuf *later, const char *text, size_t len)
{
	char program[256], t[] = "-t", oi[] = "-oi";
	char *argv[] = {program, t, oi, NULL};
	const char *to = pairs_text(config, "mail", "");
	struct strbuf mail = {0};
	struct err *e;

	(void)snprintf(program, sizeof(program), "%s", pairs_text(config, "sendmail", SENDMAIL));
	if (!address_is_good(to))
		return err_hint(err_new("'%s' is no address for mail", to),
				"the key mail= has one address, such as root");
	header_add(&mail, "To", to);
	header_add(&mail, "Subject", subject);
	strbuf_adds(&mail, "Auto-Submitted: auto-generated\nMIME-Version: 1.0\n"
			   "Content-Type: text/plain; charset=utf-8\n"
			   "Content-Transfer-Encoding: 8bit\n\n");
	if (later->len) {
		strbuf_adds(&mail, "Crashes since the last mail:\n\n");
		body_add(&mail, later->data, later->len);
		strbuf_addc(&mail, '\n');
	}
	body_add(&mail, text, len);
	e = send_run(&(struct send_program){.argv = argv,
					    .text = mail.data,
					    .len = mail.len,
					    .fd = -1,
					    .seconds = SECONDS});
	strbuf_deinit(&mail);
	return e ? err_wrap(e, "cannot send mail") : NULL;
}

static int64_t last_ns(const struct crash_store *s)
{
	struct strbuf text = {0};
	struct pairs p = {0};
	struct err *e = crash_file_read(s->fd, CRASH_STORE_MAIL, 4096, &text);
	int64_t ns;

	err_destroy(e); /* none was sent yet */
	pairs_parse(strbuf_text(&text), text.len, &p);
	ns = pairs_int(&p, "last_ns", 0);
	pairs_deinit(&p);
	strbuf_deinit(&text);
	return ns;
}

static bool is_early(const struct crash_store *s)
{
	int64_t now = real_ns(), last = last_ns(s);

	return last <= now && now - last < PAUSE_NS;
}

/* Notes the time before the mail is sent: a mailer that fails is not tried each second. */
static struct err *last_note(const struct crash_store *s)
{
	struct strbuf text = {0};
	struct err *e;

	pair_write_int(&text, "last_ns", real_ns());
	e = crash_file_write(s->fd, CRASH_STORE_MAIL, strbuf_text(&text), text.len);
	strbuf_deinit(&text);
	return e;
}

static void later_read(const struct crash_store *s, struct strbuf *ret)
{
	struct err *e = crash_file_read(s->fd, CRASH_STORE_LATER, 2 * LATER_MAX, ret);

	err_destroy(e); /* nothing has waited */
}

static struct err *later_add(const struct crash_store *s, const struct crash_news *n)
{
	struct strbuf text = {0};
	struct err *e = NULL;

	later_read(s, &text);
	if (text.len < LATER_MAX) {
		text_escape(&text, n->id, strlen(n->id));
		strbuf_addf(&text, "  %s  ", n->signal);
		text_escape(&text, n->name, strnlen(n->name, 200));
		strbuf_adds(&text, "  ");
		text_escape(&text, n->where, strnlen(n->where, 500));
		strbuf_addf(&text, "%s\n", n->count > 1 ? "  (again)" : "");
		e = crash_file_write(s->fd, CRASH_STORE_LATER, text.data, text.len);
	}
	strbuf_deinit(&text);
	return e;
}

struct err *crash_mail(const struct crash_store *s, const struct pairs *config,
		       const struct crash_news *n)
{
	struct strbuf later = {0}, subject = {0};
	struct err *e;

	if (!*pairs_text(config, "mail", ""))
		return NULL;
	if (is_early(s))
		return later_add(s, n);
	e = last_note(s);
	if (e)
		return e;
	later_read(s, &later);
	strbuf_addf(&subject, "[%s] %s ", n->host, n->name);
	if (n->is_alive)
		strbuf_adds(&subject, "was captured");
	else
		strbuf_addf(&subject, "has died of %s", n->signal);
	if (*n->where)
		strbuf_addf(&subject, ": %s", n->where);
	e = mail_send(config, strbuf_text(&subject), &later, n->text, n->len);
	if (!e && later.len)
		(void)unlinkat(s->fd, CRASH_STORE_LATER, 0);
	strbuf_deinit(&later);
	strbuf_deinit(&subject);
	return e;
}

struct err *crash_mail_waiting(const struct crash_store *s, const struct pairs *config)
{
	struct strbuf later = {0};
	struct err *e = NULL;

	later_read(s, &later);
	if (later.len && *pairs_text(config, "mail", "") && !is_early(s)) {
		e = last_note(s);
		if (!e)
			e = mail_send(config, "further crashes", &later, "", 0);
		if (!e)
			(void)unlinkat(s->fd, CRASH_STORE_LATER, 0);
	}
	strbuf_deinit(&later);
	return e;
}
