/* SPDX-License-Identifier: MIT */
/*
 * Objects that are alive, or were created, by file, line and class: which runtime the process has,
 * and the names of classes.
 */
#include <stdio.h>
#include <string.h>

#include "objects.h"
#include "base/sorted.h"
#include "base/text.h"
#include "target/ident.h"

static const struct runtime *const runtimes[] = {
	&runtime_ruby,
	&runtime_python,
	&runtime_php,
	&runtime_perl,
};
#define NRUNTIMES (sizeof(runtimes) / sizeof(runtimes[0]))

/* The functions of runtimes that the process has. */
struct found {
	struct {
		char *module; /* NULL: it has none */
		bool has[RUNTIME_NFUNCTIONS_MAX];
	} runtimes[NRUNTIMES];
	uint32_t nodd; /* functions of files whose names cannot stand in a program */
};

static void function_note(const char *module, const char *function, void *arg)
{
	struct found *f = arg;

	if (!module_is_plain(module)) {
		f->nodd++;
		return;
	}
	for (size_t i = 0; i < NRUNTIMES; i++)
		for (size_t k = 0; runtimes[i]->functions[k]; k++) {
			if (strcmp(function, runtimes[i]->functions[k]) != 0)
				continue;
			if (!f->runtimes[i].module)
				f->runtimes[i].module = mem_check(strdup(module));
			if (strcmp(module, f->runtimes[i].module) == 0)
				f->runtimes[i].has[k] = true;
		}
}

/* Says that the process has no runtime, and ends the command. */
static __attribute__((noreturn)) void runtime_refuse(struct memprof *m, bool has_ended)
{
	struct strbuf what = {0};

	for (size_t i = 0; i < NRUNTIMES; i++)
		strbuf_addf(&what, "%s%s()", i ? ", " : "", runtimes[i]->functions[0]);
	say("process %d %s no Ruby 2.7 to 3.2, Python, PHP or Perl whose objects can be followed: "
	    "none of its files %s one of the functions %s",
	    (int)m->pid, has_ended ? "has ended, and had" : "has", has_ended ? "had" : "has",
	    what.data);
	if (m->command && m->shows_d)
		fputs("hint: with --show the command does not run: give its interpreter as the "
		      "first program of -c\n",
		      stderr);
	else
		fputs("hint: memprof alive counts objects by class, also of Node.js, Java and Lua; "
		      "memprof without a word shows what grows\n",
		      stderr);
	strbuf_deinit(&what);
	session_close(m);
	exit(E_ERROR);
}

static void runtime_note(const char *module, const char *function, void *arg)
{
	(void)module;
	(void)function;
	*(bool *)arg = true;
}

/* Whether the process has a runtime: one of those, or another one, for which nothing waits. */
static bool has_runtime(struct memprof *m)
{
	static const char *const others[] = {"_ZN4node5StartEiPPc", "JLI_Launch", "lua_newstate"};
	struct strbuf what = {0}, why = {0};
	bool ret = false;

	for (size_t i = 0; i < NRUNTIMES; i++)
		strbuf_addf(&what, "%spid%d::%s:entry", i ? "," : "", (int)m->pid,
			    runtimes[i]->functions[0]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		strbuf_addf(&what, ",pid%d::%s:entry", (int)m->pid, others[i]);
	if (!functions_find_later(what.data, runtime_note, &ret, &why))
		say_fatal(m, "cannot look at the functions of process %d: %s", (int)m->pid,
			  strbuf_text(&why));
	strbuf_deinit(&what);
	strbuf_deinit(&why);
	return ret;
}

/* With evaltime=exec a program is held before its libraries are there, and so are runtimes. */
static void evaltime_check(struct memprof *m)
{
	const char *when = "";

	for (uint32_t i = 0; i < m->noptions; i++)
		if (strncmp(m->options[i], "evaltime=", strlen("evaltime=")) == 0)
			when = m->options[i] + strlen("evaltime=");
	if (strcmp(when, "exec") == 0)
		say_fatal(m, "objects of -c cannot be followed with -x evaltime=exec: a program "
			     "has no libraries then, and maybe no runtime; leave it out, or use "
			     "preinit");
}

/*
 * Lets a command run to the first of its programs that has a runtime: scripts begin with env, and
 * names of languages are often scripts of a shell that choose a version.
 */
static void runtime_await(struct memprof *m)
{
	bool is_told = false;
	int n;

	evaltime_check(m);
	if (m->shows_d) /* nothing of the command runs */
		return;
	session_wait_begin(m);
	while ((n = dtrace_proc_advance(m->dtp)) == 1 && !session_wait_is_over() &&
	       !has_runtime(m)) {
		if (!is_told)
			say("process %d has no Ruby, Python, PHP or Perl yet: it runs until it "
			    "executes one\nhint: if it loads one as a library, use -p then",
			    (int)m->pid);
		is_told = true;
	}
	session_wait_end();
	if (session_wait_is_over())
		say_fatal(m,
			  "ended while process %d had not executed Ruby, Python, PHP or Perl: "
			  "nothing was traced",
			  (int)m->pid);
	if (n < 0)
		library_fatal(m, "cannot run '%s'", m->command);
	if (n == 0)
		runtime_refuse(m, true);
}

/* Finds the process's runtime. */
static const struct runtime *runtime_find(struct objects *o)
{
	struct found f = {0};
	struct strbuf what = {0};
	const struct runtime *ret = NULL;

	if (o->m->command)
		runtime_await(o->m);
	for (size_t i = 0; i < NRUNTIMES; i++)
		for (size_t k = 0; runtimes[i]->functions[k]; k++)
			strbuf_addf(&what, "%spid$target::%s:entry", what.len ? "," : "",
				    runtimes[i]->functions[k]);
	functions_find(o->m, what.data, function_note, &f);
	strbuf_deinit(&what);
	if (f.nodd)
		say("%u function%s of libraries with odd names %s not followed", f.nodd,
		    PLURAL(f.nodd), WORD_FOR(f.nodd, "is", "are"));
	for (size_t i = 0; i < NRUNTIMES; i++) {
		if (!ret && f.runtimes[i].has[0]) {
			ret = runtimes[i];
			o->module = f.runtimes[i].module;
			memcpy(o->has, f.runtimes[i].has, sizeof(o->has));
		} else {
			free(f.runtimes[i].module);
		}
	}
	if (!ret)
		runtime_refuse(o->m, false);
	return ret;
}

struct class *class_find(const struct objects *o, uint64_t number)
{
	uint32_t i = sorted_below(o->classes, o->nclasses, number, number);

	return i < o->nclasses && o->classes[i].number == number ? &o->classes[i] : NULL;
}

struct class *class_add(struct objects *o, uint64_t number, const char *name)
{
	uint32_t i = sorted_below(o->classes, o->nclasses, number, number);

	if (o->nclasses == CLASSES_MAX)
		return NULL;
	o->classes = mem_check(realloc(o->classes, (o->nclasses + 1) * sizeof(*o->classes)));
	memmove(&o->classes[i + 1], &o->classes[i], (o->nclasses - i) * sizeof(*o->classes));
	o->nclasses++;
	o->classes[i] =
		(struct class){.number = number, .name = name ? mem_check(strdup(name)) : NULL};
	return &o->classes[i];
}

void class_name_note(struct objects *o, uint64_t number, const char *name)
{
	struct class *c = class_find(o, number);

	if (!c)
		(void)class_add(o, number, name);
	else if (!c->name)
		c->name = mem_check(strdup(name));
}

static const char *class_name(uint64_t number, void *arg)
{
	const struct class *c = class_find(arg, number);

	return c ? c->name : NULL;
}

/* Keys are a class and its name. */
static void name_note(const dtrace_aggdata_t *row, void *arg)
{
	const dtrace_datum_t *k = row->dtada_keys;
	struct objects *o = arg;
	char *text;

	if (row->dtada_nkeys != 2 || k[1].dtd_kind != DTRACE_DATUM_STRING)
		return;
	text = mem_check(strndup(k[1].dtd_bytes, k[1].dtd_size));
	class_name_note(o, (uint64_t)k[0].dtd_value, text);
	free(text);
}

/* The last key of a row is its class. */
static void row_note(const dtrace_aggdata_t *row, void *arg)
{
	if (row->dtada_nkeys == 3)
		class_note(arg, (uint64_t)row->dtada_keys[2].dtd_value);
}

static void rows_end(void *arg, bool is_report)
{
	classes_ask(arg, is_report);
}

int objects_run(struct memprof *m)
{
	struct objects o = {.m = m};
	struct tracing t = {.agg = "objects",
			    .is_objects = true,
			    .hits = "hits",
			    .own_hits = "own",
			    .names = "names",
			    .name_note = name_note,
			    .class_name = class_name,
			    .arg = &o,
			    .nothing = m->is_created ? "no object was created"
						     : "no object was created that is alive"};
	const struct runtime *runtime;
	int status = E_ERROR;

	if (m->flame)
		say_fatal(m, "objects have a place, and no stack: there is no --flame of them");
	session_open(m);
	(void)proc_started(m->pid, &o.started);
	runtime = runtime_find(&o);
	if (runtime->program_make(&o)) {
		t.d = o.d.data;
		t.row_note = o.reads_names ? row_note : NULL;
		t.rows_end = rows_end;
		status = session_run(m, &t);
		classes_missing_say(&o);
		if (runtime->end)
			runtime->end(&o);
	}
	session_close(m);
	for (size_t i = 0; i < o.nclasses; i++)
		free(o.classes[i].name);
	free(o.classes);
	strbuf_deinit(&o.failure);
	free(o.module);
	strbuf_deinit(&o.d);
	return status;
}
