/* SPDX-License-Identifier: MIT */
/* Probes that a program defines itself: those of this test, in a process of it. */
#include "child.h"
#include "dtrace/sdt.h"
#include "files/gate.h"
#include "files/mapping.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "provider/arrivals.h"
#include "provider/usdt.h"
#include "sym/sym.h"
#include "tap.h"

/* Not called: its notes are what the test is about. */
__attribute__((noinline, used)) static void unit_shop_sell(int64_t id, const char *what)
{
	DTRACE_PROBE2(unitshop, sold, id, what);
	DTRACE_PROBE(unitshop, closed);
}

static struct file_opts files = {.debug_dirs = "/nowhere", .limit = 64 << 20};
static char adjusted[256];

static void on_adjusted(void *ctx, const char *msg)
{
	(void)snprintf(adjusted, sizeof(adjusted), "%s", msg);
}

static void session_begin(struct provider_env *env)
{
	*env = (struct provider_env){.files = &files, .on_adjusted = on_adjusted};
	(void)probes_create(env);
	adjusted[0] = '\0';
}

static void session_end(struct provider_env *env)
{
	probes_destroy(env->probes);
	env_deinit(env);
}

static struct probe *match_one_of(struct provider_env *env, const char *prov, const char *func,
				  const char *name, uint32_t *ret_n)
{
	const struct probe_desc desc = {prov, "", func, name, 0, false, 0};
	struct probe **found = NULL;
	struct err *e;

	*ret_n = 0;
	e = probes_match(env->probes, &desc, &found, ret_n);
	ok(!e, "no error for %s:::%s%s%s", prov, name, e ? ": " : "", e ? err_text(e) : "");
	err_destroy(e);
	return *ret_n == 1 ? found[0] : NULL;
}

static struct probe *match_one(struct provider_env *env, const char *prov, const char *name,
			       uint32_t *ret_n)
{
	return match_one_of(env, prov, "", name, ret_n);
}

static void test_process(const char *prov, pid_t pid)
{
	struct provider_env env;
	struct probe_point pt = {0};
	struct probe_desc wrong = {prov, "", "", "solt", 0, false, 0};
	const char *const *types;
	const char *hint;
	struct probe *pr;
	uint32_t n;

	session_begin(&env);
	pr = match_one(&env, prov, "sold", &n);
	if (!ok(pr != NULL, "the probe is there"))
		return;
	is_str(pr->prov, prov, "its provider ends with the process");
	is_str(pr->func, "unit_shop_sell", "it is in the function");
	ok(!pr->has_pid, "and in one process only");
	is_int(pr->provider->points(pr, &pt), 1, "at one place");
	ok(pt.spot == SPOT_USDT && pt.tgid == (uint32_t)pid, "a note's, in that process");
	ok(pt.code->sites.len == 1 && pt.code->sites.data[0].operands &&
		   pt.code->sites.data[0].operands->n == 2,
	   "with operands");
	is_int(pr->provider->arg_types(&env, pr, &types), 2, "it has two arguments");
	ok(usdt_probe(pr)->note && strcmp(usdt_probe(pr)->note->name, "sold") == 0, "and the note");
	(void)match_one(&env, prov, "*", &n);
	is_int(n, 2, "the program has two");
	(void)match_one(&env, prov, "none", &n);
	is_int(n, 0, "and no other");
	hint = probes_hint(env.probes, &wrong);
	ok(hint && strstr(hint, "sold"), "a near name is suggested");
	is_int(usdt_only_in(&wrong), pid, "the description is about one process");
	session_end(&env);
}

/* Probes that harm are left out, unless the user insists. */
static void test_harm(const char *prov)
{
	const struct harm row = {.prov = "unitshop", .name = "sold", .reason = "it hurts"};
	struct provider_env env;
	const struct probe_desc desc = {prov, "", "", "sold", 0, false, 0};
	const char *hint;
	uint32_t n;

	session_begin(&env);
	env_add_harm(&env, &row);
	(void)match_one(&env, prov, "*", &n);
	is_int(n, 1, "a probe that harms is left out");
	ok(strstr(adjusted, "it hurts"), "which the user is told: %s", adjusted);
	hint = probes_hint(env.probes, &desc);
	ok(hint && strstr(hint, "it hurts"), "again when it is all that was meant");
	env_set_harmful(&env, true);
	(void)match_one(&env, prov, "*", &n);
	is_int(n, 2, "or not, with the option");
	session_end(&env);
}

/* A pattern means all processes; what comes later is found when it is mapped. */
static void test_files(const struct child *c)
{
	const struct file_arrivals *a = usdt_arrivals.files;
	const struct probe_desc desc = {"unitshop*", "", "", "sold", 0, false, 0};
	struct provider_env env;
	struct probe_list found = {0};
	struct sym_map map = {0};
	struct proc_maps maps;
	const char *name = NULL;
	char path[64];
	uint32_t batch;
	struct err *e;

	session_begin(&env);
	probes_name(env.probes, &desc);
	ok(a->wants(&env, &desc), "a pattern means all processes");
	ok(!a->wants(&env, &(struct probe_desc){"unitshop1", "", "", "", 0, false, 0}),
	   "a process is one");
	(void)snprintf(path, sizeof(path), "usdt-%d.so", (int)getpid());
	ok(program_copy(path) && child_map(c, path), "a process maps a file");
	e = proc_maps_read(c->pid, &maps);
	ok(!e, "its mappings are read");
	err_destroy(e);
	for (uint32_t i = 0; !e && i < maps.maps.len; i++) {
		const struct proc_map *m = &maps.maps.data[i];

		if (!m->path || !strstr(m->path, path))
			continue;
		map = (struct sym_map){.start = m->start,
				       .len = m->end - m->start,
				       .off = m->off,
				       .dev = m->dev,
				       .ino = m->ino,
				       .path = m->path};
	}
	ok(!a->state(&env, map.dev, map.ino, &name), "the file was not looked at");
	ok(a->mapped(&env, (uint64_t)c->pid, &map), "it is new");
	batch = a->look(&env, false);
	ok(batch != 0, "and makes a batch");
	e = usdt_arrivals.match_new(&env, &desc, &found);
	ok(!e && found.probes.len == 1 && found.probes.data[0]->has_pid,
	   "with one probe for all processes");
	err_destroy(e);
	ok(a->state(&env, map.dev, map.ino, &name) && name && strcmp(name, path) == 0,
	   "whose file has probes placed");
	ok(!a->mapped(&env, (uint64_t)c->pid, &map), "another process that maps it is no news");
	is_int(a->look(&env, false), 0, "nothing else has come");
	usdt_arrivals.processes->retire(&env, batch);
	usdt_arrivals.free(&env, batch, false);
	ok(a->mapped(&env, (uint64_t)c->pid, &map), "a file that was retired is new again");
	ok(child_unmap(c), "the process unmaps the file");
	(void)unlink(path);
	proc_maps_deinit(&maps);
	vec_deinit(&found.probes);
	session_end(&env);
}

/* What names have open is not opened once more, whichever provider reads it. */
static void test_images(const char *prov, pid_t pid)
{
	VEC(struct image *) all = {0};
	uint64_t nopened, bytes;
	struct image *own;
	struct provider_env env;
	struct proc_maps maps;
	const char *const *types;
	struct probe *pr, *func, *again;
	const struct funcs *read_once;
	char pid_prov[32];
	uint32_t n;

	if (!ok(!proc_maps_read(pid, &maps), "its mappings"))
		return;
	for (uint32_t i = 0; i < maps.maps.len; i++) {
		struct mapping at = proc_map_mapping(pid, &maps.maps.data[i]);
		bool is_code = maps.maps.data[i].is_exec && maps.maps.data[i].ino;
		struct image *img = is_code ? image_open(files.images, files.gate, &at) : NULL;

		if (img)
			vec_push(&all, img);
	}
	own = all.data[0]; /* the program is the first */
	nopened = files.images->nopened;
	bytes = files.images->bytes;
	session_begin(&env);
	pr = match_one(&env, prov, "sold", &n);
	(void)snprintf(pid_prov, sizeof(pid_prov), "pid%d", (int)pid);
	read_once = own->funcs;
	func = match_one_of(&env, pid_prov, "unit_shop_sell", "entry", &n);
	ok(read_once && own->funcs == read_once, "whose functions are read once for both");
	ok(own->bytes > own->text.cap && own->text.cap, "which counts, as the code does");
	files.images->max_bytes = 0;
	image_set_shed(files.images, NULL);
	files.images->max_bytes = IMAGES_MEMORY_DEFAULT;
	ok(!own->funcs && !own->text.data, "probes do not keep them");
	again = match_one_of(&env, pid_prov, "unit_shop_sell", "return", &n);
	ok(again && own->funcs && !own->nfuncs_users, "the next probe reads them again");
	ok(func && strcmp(func->func, "unit_shop_sell") == 0 && pr &&
		   strcmp(pr->func, "unit_shop_sell") == 0,
	   "names of probes are their own");
	ok(func && func->provider->arg_types(&env, func, &types) == 2 && own->dwarf,
	   "types of arguments come from the image's debug information");
	if (ok(pr && func, "a probe of the program, and one of its function")) {
		ok(usdt_probe(pr)->object->file->image == own, "the first is in an image");
		ok(own->notes[IMAGE_USDT] == usdt_probe(pr)->object, "which notes it");
		ok(code_file_of(code_probe(func)->code.sites.data[0].file)->image == own,
		   "the other one is in the same");
	}
	is_int(files.images->nopened, nopened, "no file was opened");
	ok(files.images->bytes > bytes, "notes count as what is kept of files");
	session_end(&env);
	ok(!own->notes[IMAGE_USDT] && !own->npins, "the end of a session leaves nothing in it");
	for (uint32_t i = 0; i < all.len; i++)
		image_put(all.data[i]);
	vec_deinit(&all);
	is_int(files.images->bytes, bytes, "nor bytes");
	proc_maps_deinit(&maps);
}

int main(void)
{
	struct child c;
	char prov[32];

	files.gate = gate_create();
	files.images = image_set_create();
	if (!ok(child_begin(&c), "a process of this program"))
		return tap_done();
	(void)snprintf(prov, sizeof(prov), "unitshop%d", (int)c.pid);
	test_images(prov, c.pid);
	test_process(prov, c.pid);
	test_harm(prov);
	test_files(&c);
	child_end(&c);
	image_set_destroy(files.images);
	gate_destroy(files.gate);
	return tap_done();
}
