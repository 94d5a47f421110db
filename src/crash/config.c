/* SPDX-License-Identifier: MIT */
/* Reads and writes the configuration of crash capture. */
#include "crash/config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "crash/format.h"
#include "crash/pairs.h"
#include "crash/store.h"

struct key {
	const char *name;
	size_t off;
	bool is_number;
	/* those that are allowed, each between blanks; path: any absolute path; NULL: any text */
	const char *words;
	const char *missing;	 /* the value where the file has none; NULL: none */
	int64_t least, greatest; /* of a number */
	bool may_be_empty;	 /* of a path */
};

static const char path[] = "";

/* clang-format off */
#define TEXT(name) #name, offsetof(struct crash_config, name), false
#define TEXT_OF(number) TEXT_OF_(number)
#define TEXT_OF_(number) #number
#define NUMBER(name) #name, offsetof(struct crash_config, name), true
static const struct key keys[] = {
	{ TEXT(keep_core), " no stacks heap full ", "stacks", 0, 0, false },
	{ TEXT(mail), NULL, NULL, 0, 0, false },
	{ TEXT(post), NULL, NULL, 0, 0, false },
	{ TEXT(chain), NULL, NULL, 0, 0, false },
	{ TEXT(env), " list all ", "list", 0, 0, false },
	{ TEXT(socket), path, NULL, 0, 0, false },
	{ TEXT(into_container), path, NULL, 0, 0, false },
	{ TEXT(metrics), path, NULL, 0, 0, false },
	{ TEXT(scripts), path, NULL, 0, 0, false },
	{ TEXT(sendmail), path, NULL, 0, 0, false },
	{ TEXT(curl), path, NULL, 0, 0, false },
	{ TEXT(analyser), path, "/usr/bin/fathom-crash", 0, 0, true },
	{ TEXT(store), path, CRASH_STORE, 0, 0, false },
	{ NUMBER(max_wait_ms), NULL, TEXT_OF(CRASH_MAX_WAIT_MS), 1, 30000, false },
	{ NUMBER(max_bytes), NULL, "1073741824", 0, INT64_MAX, false },
	{ NUMBER(captures), NULL, TEXT_OF(CRASH_CAPTURES), 0, CRASH_COUNT_TIMES, false },
	{ NUMBER(window_s), NULL, TEXT_OF(CRASH_WINDOW_S), 1, 86400, false },
};
/* clang-format on */

static const struct key *key_find(const char *name)
{
	for (uint32_t i = 0; i < ARRAY_LEN(keys); i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

static bool number_parse(const struct key *k, const char *text, int64_t *ret)
{
	long long n;
	char *end;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (end == text || *end || errno || n < k->least || n > k->greatest)
		return false;
	*ret = n;
	return true;
}

static bool word_is_allowed(const struct key *k, const char *value)
{
	const char *at = k->words;
	size_t len = strlen(value);

	if (!at)
		return true;
	while (len && !strchr(value, ' ') && (at = strstr(at, value))) {
		if (at[-1] == ' ' && at[len] == ' ')
			return true;
		at += len;
	}
	return false;
}

struct err *crash_config_check(const char *key, const char *value)
{
	const struct key *k = key_find(key);
	int64_t n;

	if (!k)
		return err_new("there is no key '%s'", key);
	if (k->is_number)
		return number_parse(k, value, &n)
			       ? NULL
			       : err_new("'%s' of '%s' is no number from %" PRId64 " to %" PRId64,
					 value, key, k->least, k->greatest);
	if (k->words == path)
		return *value == '/' || (!*value && k->may_be_empty)
			       ? NULL
			       : err_new("'%s' of '%s' is no absolute path", value, key);
	if (!word_is_allowed(k, value))
		return err_new("'%s' of '%s' is none of:%s", value, key, k->words);
	/* The address follows a "-t" of sendmail in a header, which a line feed would end. */
	if (strcmp(key, "mail") == 0 && (!*value || strpbrk(value, " \t\r\n") || *value == '-'))
		return err_new("'%s' of 'mail' is no address", value);
	if (strcmp(key, "post") == 0 && strncmp(value, "http://", 7) != 0 &&
	    strncmp(value, "https://", 8) != 0)
		return err_new("'%s' of 'post' is no URL of http or https", value);
	return NULL;
}

void crash_config_set(char **text, const char *value)
{
	char *copy = value ? xstrdup(value) : NULL;

	free(*text);
	*text = copy;
}

/* Sets a member; the value was checked. */
static void key_set(struct crash_config *c, const struct key *k, const char *value)
{
	void *member = (char *)c + k->off;

	if (k->is_number)
		(void)number_parse(k, value, member);
	else
		crash_config_set(member, value);
}

static struct err *pairs_take(struct crash_config *c, const struct pairs *p, const char *file)
{
	for (uint32_t i = 0; i < p->list.len; i++) {
		const struct pair *one = &p->list.data[i];
		const struct key *k = key_find(one->key);
		struct err *e;

		if (!k) {
			vec_push(&c->unknown, xstrdup(one->key));
			continue;
		}
		e = crash_config_check(one->key, one->value);
		if (e)
			return err_wrap(e, "'%s'", file);
		key_set(c, k, one->value);
	}
	return NULL;
}

struct err *crash_config_read(const char *file, struct crash_config *ret)
{
	struct crash_config c = {0};
	struct strbuf text = {0};
	struct pairs p = {0};
	struct err *e;

	for (uint32_t i = 0; i < ARRAY_LEN(keys); i++)
		if (keys[i].missing)
			key_set(&c, &keys[i], keys[i].missing);
	e = crash_file_read(AT_FDCWD, file, PAIRS_TEXT_MAX, &text);
	if (e && err_get_sys(e) == ENOENT) {
		err_destroy(e);
		e = NULL;
	}
	if (!e) {
		pairs_parse(strbuf_text(&text), text.len, &p);
		e = pairs_take(&c, &p, file);
	}
	pairs_deinit(&p);
	strbuf_deinit(&text);
	if (e)
		crash_config_deinit(&c);
	else
		*ret = c;
	return e;
}

void crash_config_deinit(struct crash_config *c)
{
	for (uint32_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!keys[i].is_number)
			crash_config_set((char **)((char *)c + keys[i].off), NULL);
	for (uint32_t i = 0; i < c->unknown.len; i++)
		free(c->unknown.data[i]);
	vec_deinit(&c->unknown);
}

void crash_config_write(const struct crash_config *c, struct strbuf *out)
{
	strbuf_adds(out,
		    "# Crash capture: see fathom-crash(1). 'fathom-crash install' writes it.\n");
	for (uint32_t i = 0; i < ARRAY_LEN(keys); i++) {
		const void *member = (const char *)c + keys[i].off;

		if (keys[i].is_number)
			pair_write_int(out, keys[i].name, *(const int64_t *)member);
		else if (*(char *const *)member)
			pair_write(out, keys[i].name, *(char *const *)member);
	}
}
