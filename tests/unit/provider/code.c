/* SPDX-License-Identifier: MIT */
/*
 * Probes in the code of a process: what they are, and what becomes of them when the process maps
 * files and unmaps them.
 */
#include "child.h"
#include "image/debugfile.h"
#include "files/gate.h"
#include "image/image.h"
#include "provider/arrivals.h"
#include "provider/pid.h"
#include "tap.h"

/* Functions of the test, which are not called. */
__attribute__((noinline, used)) static int probed_twice(int n)
{
	return n < 0 ? -n : 2 * n;
}

__attribute__((noinline, used)) static int probed_other(int n)
{
	return n * 3 + 1;
}

static struct file_opts files = {.debug_dirs = "/nowhere", .limit = 64 << 20};
static char notice[256];

static void on_notice(void *ctx, const char *msg)
{
	(void)snprintf(notice, sizeof(notice), "%s", msg);
}

static struct probes *session_begin(struct provider_env *env)
{
	*env = (struct provider_env){.files = &files, .on_notice = on_notice};
	return probes_create(env);
}

static void session_end(struct provider_env *env)
{
	probes_destroy(env->probes);
	env_deinit(env);
}

/* The probe that pidN:mod:func:name is; NULL: none, or an error, whose text *ret_why is then. */
static struct probe *match_one(struct provider_env *env, pid_t pid, const char *mod,
			       const char *func, const char *name, uint32_t *ret_n,
			       const char **ret_why)
{
	struct probe_desc desc =
		{arena_printf(env->arena, "pid%d", (int)pid), mod, func, name, 0, false, 0};
	struct probe **found = NULL;
	struct err *e;

	*ret_n = 0;
	*ret_why = "";
	e = probes_match(env->probes, &desc, &found, ret_n);
	if (e)
		*ret_why = arena_strdup(env->arena, err_text(e));
	err_destroy(e);
	return *ret_n == 1 ? found[0] : NULL;
}

static void test_probes(const struct child *c)
{
	struct provider_env env;
	struct probe_point pt = {0};
	struct probe *pr, *again;
	const char *why;
	uint32_t n;

	(void)session_begin(&env);
	pr = match_one(&env, c->pid, "a.out", "probed_twice", "entry", &n, &why);
	ok(pr != NULL, "a function's entry is a probe%s%s", *why ? ": " : "", why);
	if (!pr)
		return;
	is_str(pr->func, "probed_twice", "with the function's name");
	is_int(pr->provider->points(pr, &pt), 1, "at one place");
	is_int(pt.place.kind, PLACE_UPROBE, "which is code");
	is_int(pt.spot, SPOT_ENTRY, "the start of a function in C");
	is_int(pt.tgid, c->pid, "in this process");
	ok(pt.code->sites.len == 1 && pt.code->sites.data[0].off, "of one instruction");
	ok(pt.code->is_exact, "which the user has named");
	is_int(pt.key, 0, "and the first key");
	again = match_one(&env, c->pid, "", "probed_twice", "entry", &n, &why);
	ok(again == pr, "another description of it has the same probe");
	pr = match_one(&env, c->pid, "a.out", "probed_twice", "return", &n, &why);
	ok(pr && pr->provider->points(pr, &pt) == 1 && pt.spot == SPOT_RETURN && pt.key == 1,
	   "its return is another, with the next key");
	ok(pr && pt.code->sites.data[0].rel > 0, "which is behind the start");
	pr = match_one(&env, c->pid, "a.out", "probed_twice", "0", &n, &why);
	ok(pr && pr->provider->points(pr, &pt) == 1 && pt.spot == SPOT_INSN,
	   "an offset is an instruction");
	(void)match_one(&env, c->pid, "a.out", "probed_*", "entry", &n, &why);
	is_int(n, 2, "a pattern finds both functions");
	(void)match_one(&env, c->pid, "a.out", "probed_twicf", "entry", &n, &why);
	ok(strstr(why, "is not in"), "one that there is not is an error: %s", why);
	(void)match_one(&env, c->pid, "a.out", "probed_twice", "10000", &n, &why);
	ok(strstr(why, "lies beyond"), "so is an offset behind its end: %s", why);
	(void)match_one(&env, c->pid, "a.out", "probed_twice", "enter", &n, &why);
	ok(strstr(why, "is no probe"), "and a name that means nothing: %s", why);
	(void)match_one(&env, getpid(), "a.out", "probed_twice", "entry", &n, &why);
	ok(strstr(why, "is dtrace itself"), "the tracer probes itself not: %s", why);
	session_end(&env);
}

static void test_targets(const struct child *c)
{
	const struct probe_desc all = {"pid*", "a.out", "probed_other", "entry", 0, false, 0};
	struct provider_env env;
	struct probes *ps = session_begin(&env);
	struct probe **found;
	uint32_t n = 9;
	struct err *e = probes_match(ps, &all, &found, &n);

	ok(!e && n == 0, "pid* means no process without targets");
	err_destroy(e);
	ok(strstr(probes_hint(ps, &all), "-c and -p"), "and the hint says so");
	env_add_process(&env, c->pid);
	e = probes_match(ps, &all, &found, &n);
	ok(!e && n == 1, "and the target when there is one");
	err_destroy(e);
	session_end(&env);
}

/* What the session does when a process that it follows has mapped a file. */
static void test_arrivals(const struct child *c)
{
	const struct process_arrivals *a = pid_arrivals.processes;
	struct probe_desc desc = {NULL, "provider-*", "probed_twice", "entry", 0, false, 0};
	char path[64];
	struct provider_env env;
	struct probes *ps = session_begin(&env);
	const struct proc_id *id;
	struct probe_list found = {0};
	struct probe_point pt;
	uint64_t since;
	uint32_t n, batch = 9, made;
	const char *why;
	struct err *e;

	desc.prov = arena_printf(env.arena, "pid%d", (int)c->pid);
	(void)match_one(&env, c->pid, desc.mod, desc.func, desc.name, &n, &why);
	is_int(n, 0, "a file that is not mapped has no probes");
	id = a->described(&env, &desc, 0);
	ok(id && id->pid == c->pid && !a->described(&env, &desc, 1), "the process is followed");
	ok(id && a->is_described(&env, &desc, id), "and meant");
	if (!id)
		return;
	ok(a->waits_for_library(&env, &desc, id), "a pattern waits for libraries");
	e = a->look_again(&env, id, id, false, &batch);
	ok(!e && batch == 0, "nothing new, no batch");
	err_destroy(e);
	(void)snprintf(path, sizeof(path), "provider-%d.so", (int)getpid());
	ok(program_copy(path) && child_map(c, path), "the process maps a file");
	e = a->look_again(&env, id, id, false, &batch);
	made = batch;
	ok(!e && made, "which is a batch");
	err_destroy(e);
	e = pid_arrivals.match_new(&env, &desc, &found);
	ok(!e && found.probes.len == 1, "that has the probe");
	err_destroy(e);
	if (found.probes.len) {
		ok(found.probes.data[0]->provider->points(found.probes.data[0], &pt) == 1 &&
			   pt.key == 0 && strcmp(pt.code->sites.data[0].file->name, path) == 0,
		   "in the new file, and keys begin again");
	}
	ok(!a->is_unused(&env, made, &since), "the batch is in use");
	ok(child_unmap(c), "the process unmaps the file");
	e = a->look_again(&env, id, id, false, &batch);
	ok(!e && !batch && a->is_unused(&env, made, &since) && since,
	   "which leaves a batch that nobody uses");
	err_destroy(e);
	n = found.probes.len ? found.probes.data[0]->id : 0;
	a->retire(&env, made);
	pid_arrivals.free(&env, made, false);
	ok(probes_find(ps, n) == NULL, "and goes with its probe");
	(void)unlink(path);
	vec_deinit(&found.probes);
	session_end(&env);
}

static void test_modules(void)
{
	char name[] = "libc.so.6";
	struct code_file lib = {.file = {.name = name}}, main = {.file = {.name = "prog"}};

	main.is_main = true;
	is_str(code_module_name("/usr/lib/libc.so.6"), "libc.so.6",
	       "the name is a path's last part");
	is_str(code_module_name("/memfd:jit code"), "jit code", "or that of a file in memory");
	is_str(code_module_name("prog"), "prog", "or all there is");
	ok(code_file_matches(&lib, "libc") && code_file_matches(&lib, "libc.so") &&
		   code_file_matches(&lib, "libc.so.6") && code_file_matches(&lib, "libc*"),
	   "a library has its name, with or without its version");
	ok(!code_file_matches(&lib, "lib") && !code_file_matches(&lib, "libc.so.7"),
	   "but no other");
	ok(code_file_matches(&lib, "LM0`libc.so.6"), "the number of a link map selects nothing");
	ok(code_file_matches(&main, "a.out") && code_file_matches(&main, "prog") &&
		   !code_file_matches(&lib, "a.out"),
	   "the program is a.out");
}

static void test_batches(void)
{
	struct provider_env env;
	struct probes *ps = session_begin(&env);
	struct code_probes st = {0};
	struct code_probe first = {0}, second = {0};
	struct probe *pr = probes_add(ps, &provider_pid, "m", "f", "entry", (uintptr_t)&first);

	code_probe_add(&env, &st, &first, 0);
	code_probe_add(&env, &st, &second, 0);
	ok(first.is_of_start && first.key == 0 && second.key == 1, "probes of the start");
	code_batch_begin(&env, &st);
	code_probe_renew(&env, &st, &first);
	code_batch_add(&st, pr);
	ok(st.batch == 1 && first.batch == 1 && first.key == 0 && first.nbatches == 2,
	   "a batch renews one, whose keys begin again");
	ok(code_batch_has_types(batches_find(&st.batches, 1), true) &&
		   code_batch_has_types(batches_find(&st.batches, 1), false),
	   "clauses have their types from it");
	code_batch_begin(&env, &st);
	code_probe_renew(&env, &st, &first);
	ok(!code_batch_has_types(batches_find(&st.batches, 1), true) &&
		   code_batch_has_types(batches_find(&st.batches, 1), false),
	   "not with its code when a later one has that");
	ok(!batches_find(&st.batches, 3), "there is no third");
	batches_drop(&st.batches, 2);
	ok(!batches_find(&st.batches, 2) && batches_last(&st.batches)->number == 1,
	   "a batch that is dropped is none");
	ok(!code_probe_leave(&first) && !code_probe_leave(&first) && code_probe_leave(&first),
	   "a probe leaves with its last batch");
	code_probe_drop(&st, &first);
	ok(st.probes.len == 1 && second.index == 0 && st.probes.data[0] == &second,
	   "the list has no gap");
	code_probes_deinit(&st);
	pr->data = 0;
	session_end(&env);
}

int main(void)
{
	struct child c;

	files.gate = gate_create();
	files.images = image_set_create();
	test_modules();
	test_batches();
	if (!ok(child_begin(&c), "a process of this program"))
		return tap_done();
	test_probes(&c);
	test_targets(&c);
	test_arrivals(&c);
	child_end(&c);
	image_set_destroy(files.images);
	gate_destroy(files.gate);
	return tap_done();
}
