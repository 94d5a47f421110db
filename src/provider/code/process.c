/* SPDX-License-Identifier: MIT */
/* Processes whose code is probed, and the files that they have mapped. */
#include "provider/code/code.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "d/text/diag.h"
#include "image/ehframe.h"
#include "privilege/privilege.h"
#include "target/code.h"
#include "target/ifunc.h"
#include "target/maps.h"
#include "target/target.h"
#include "image/debugfile.h"
#include "image/dwarf.h"
#include "image/image.h"
#include "files/gate.h"
#include "files/mapping.h"

/* ---- the process ----------------------------------------------------------------------------- */

static struct err *grab_failed(pid_t pid, struct err *e)
{
	return err_code(err_wrap(e, "failed to grab process %d", (int)pid), DTAG_CODE(D_PROC_GRAB));
}

static struct err *check_process(pid_t pid)
{
	long tgid = proc_status_field(pid, "Tgid");

	if (pid == getpid())
		return err_code(
			err_new("process %d is dtrace itself: its functions cannot be probed",
				(int)pid),
			DTAG_CODE(D_PROC_DYN));
	if (tgid < 0)
		return grab_failed(pid, err_new("No such process"));
	if (tgid != pid)
		return err_code(err_hint(err_new("%d is a thread, not a process", (int)pid),
					 "its process is pid%ld", tgid),
				DTAG_CODE(D_PROC_BADPID));
	return NULL;
}

/* ---- what it has mapped ---------------------------------------------------------------------- */

static struct code_file *object_find(const struct code_process *t, const struct proc_map *m)
{
	for (uint32_t i = 0; i < t->objects.len; i++) {
		struct code_file *o = t->objects.data[i];

		if (proc_map_is_of(m, &o->file.inode) && strcmp(o->file.path, m->path) == 0)
			return o;
	}
	return NULL;
}

const char *code_module_name(const char *path)
{
	static const char memory[] = "/memfd:";
	const char *slash = strrchr(path, '/');

	if (slash == path && strncmp(path, memory, sizeof(memory) - 1) == 0 &&
	    path[sizeof(memory) - 1])
		return path + sizeof(memory) - 1;
	return slash ? slash + 1 : path;
}

struct code_file *code_file_create(const struct code_probes *st, const struct proc_map *m)
{
	struct code_file *o = xcalloc(1, sizeof(*o));

	o->file = (struct place_file){.name = text_clean(xstrdup(code_module_name(m->path))),
				      .path = xstrdup(m->path),
				      .inode = {m->dev, m->ino}};
	o->batch = st->batch;
	return o;
}

static void object_see(const struct code_probes *st, struct code_process *t,
		       const struct proc_map *m)
{
	struct code_file *o = proc_map_is_code(m) ? object_find(t, m) : NULL;

	if (!proc_map_is_code(m))
		return;
	if (!o) {
		o = code_file_create(st, m);
		vec_push(&t->objects, o);
	}
	o->look = st->nlooks;
}

static bool has_user(const struct code_file *o, pid_t pid)
{
	for (uint32_t i = 0; i < o->users.len; i++)
		if (o->users.data[i] == pid)
			return true;
	return false;
}

void code_file_leave(const struct code_probes *st, struct code_file *o, pid_t pid)
{
	for (uint32_t i = o->users.len; i-- > 0;)
		if (o->users.data[i] == pid) {
			o->users.data[i] = o->users.data[--o->users.len];
			o->unused_at = st->nlooks;
		}
}

static void users_update(const struct code_probes *st, const struct code_process *t)
{
	for (uint32_t i = 0; i < t->objects.len; i++) {
		struct code_file *o = t->objects.data[i];
		bool is_user = has_user(o, t->at);

		if (o->look == st->nlooks && !is_user)
			vec_push(&o->users, t->at);
		else if (o->look != st->nlooks && is_user)
			code_file_leave(st, o, t->at);
	}
}

/* Reads what the process has mapped now; it may be another one than that of the last look. */
static struct err *target_look(struct code_process *t)
{
	struct err *e;

	if (t->target && target_pid(t->target) == t->at)
		e = target_refresh(t->target);
	else {
		target_close(t->target);
		t->target = NULL;
		return target_live_open(t->at, t->env->files->gate, &t->target);
	}
	if (e) {
		target_close(t->target);
		t->target = NULL;
	}
	return e;
}

struct err *code_process_look(struct code_probes *st, struct code_process *t)
{
	struct err *e = target_look(t);
	const struct proc_map *program;
	const struct proc_maps *maps;

	if (e)
		return grab_failed(t->at, e);
	maps = target_maps(t->target);
	if (!maps->maps.len)
		return grab_failed(t->at, err_new("it is a kernel thread or is ending: it has no "
						  "memory of its own"));
	program = target_program(t->target);
	if (!program && (errno == EACCES || errno == EPERM))
		return grab_failed(t->at,
				   err_hint(err_sys(errno, "its files cannot be opened"),
					    "processes of other users need CAP_SYS_PTRACE, too"));
	st->nlooks++;
	for (uint32_t i = 0; i < maps->maps.len; i++)
		object_see(st, t, &maps->maps.data[i]);
	users_update(st, t);
	for (uint32_t i = 0; i < t->objects.len; i++)
		t->objects.data[i]->is_main =
			program && strcmp(t->objects.data[i]->file.path, program->path) == 0;
	return NULL;
}

struct code_process *code_process_known(const struct code_probes *st, pid_t pid)
{
	for (uint32_t i = 0; i < st->processes.len; i++)
		if (st->processes.data[i]->pid == pid)
			return st->processes.data[i];
	return NULL;
}

struct err *code_process_get(struct provider_env *env, struct code_probes *st, pid_t pid,
			     struct code_process **ret)
{
	struct code_process *t = code_process_known(st, pid);
	struct err *e, *id;

	*ret = t;
	if (t)
		return NULL;
	e = check_process(pid);
	if (!e)
		e = env_need_process(env, pid);
	if (e)
		return e;
	t = xcalloc(1, sizeof(*t));
	t->pid = t->at = pid;
	t->id.pidfd = -1;
	t->env = env;
	id = proc_id_open(pid, &t->id);
	e = code_process_look(st, t); /* its error says more than the one of proc_id_open() */
	if (id && !e)
		e = grab_failed(pid, id);
	else
		err_destroy(id);
	if (e) {
		code_process_destroy(t);
		return e;
	}
	vec_push(&st->processes, t);
	*ret = t;
	return NULL;
}

void code_file_destroy(struct code_file *o)
{
	char *name;
	size_t pos = 0;

	assert(!o->nholds);
	while (o->code_names && (name = hashmap_next(o->code_names, &pos, NULL, NULL)))
		free(name);
	hashmap_destroy(o->code_names);
	if (o->has_types)
		image_dwarf_rest(o->image);
	gate_file_close(o->file.opened);
	image_unpin(o->image);
	image_put(o->image);
	err_destroy(o->refused);
	vec_deinit(&o->users);
	free((char *)(uintptr_t)o->file.name);
	free((char *)(uintptr_t)o->file.path);
	free(o);
}

void code_process_destroy(struct code_process *t)
{
	for (uint32_t i = 0; i < t->objects.len; i++)
		code_file_destroy(t->objects.data[i]);
	vec_deinit(&t->objects);
	target_close(t->target);
	proc_id_close(&t->id);
	free(t);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Returns a mapping of the file, or of its code; NULL if there is none. */
static const struct proc_map *file_map(const struct code_process *t, const struct code_file *o,
				       bool is_code)
{
	const struct proc_maps *maps = t->target ? target_maps(t->target) : NULL;

	for (uint32_t i = 0; maps && i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];

		if (proc_map_is_of(m, &o->file.inode) && (!is_code || proc_map_is_code(m)))
			return m;
	}
	return NULL;
}

bool code_file_is_mapped(const struct code_process *t, const struct code_file *o)
{
	return file_map(t, o, false);
}

/* Where debug files of the file are searched; root: the directory that is "/" for the process. */
static struct debug_search debug_search_of(const struct code_process *t, const struct code_file *o,
					   int root)
{
	const struct file_opts *files = t->env->files;

	return (struct debug_search){.path = o->file.path,
				     .root = root,
				     .dirs = files->debug_dirs,
				     .limit = files->limit,
				     .gate = files->gate,
				     .dev = o->file.inode.dev,
				     .ino = o->file.inode.ino};
}

static struct err *open_failed(const struct code_process *t, const struct code_file *o, int sys)
{
	const char *why;

	if (sys != ETIMEDOUT)
		return err_sys(sys, "cannot open '%s' of process %d", o->file.path, (int)t->at);
	/* A pattern skips files that cannot be probed, so the user would not see the error. */
	why = gate_late_text(t->env->files->gate);
	env_notice(t->env, "cannot read '%s': %s; its functions are not probed", o->file.name, why);
	return err_hint(
		err_new("%s", why),
		"try again when its server runs; -x filewait=TIME waits longer, 'umount -f' "
		"ends a mount whose server is gone");
}

/* The image is pinned because its file is open as long as probes are in it. */
void code_file_take(struct code_file *o, struct image *i)
{
	o->image = i;
	image_pin(i);
	o->file.opened = gate_file_share(i->opened);
}

static const struct err *file_open(struct code_process *t, struct code_file *o)
{
	const struct file_opts *files = t->env->files;
	const struct proc_map *m;
	struct image *i = NULL;

	if (o->file.opened || o->refused)
		return o->refused;
	errno = ENOENT;
	m = file_map(t, o, true);
	if (m)
		i = target_image(t->target, files->images, m);
	if (i)
		code_file_take(o, i);
	else
		o->refused = open_failed(t, o, errno);
	return o->refused;
}

static struct err *refused_copy(const struct err *why)
{
	struct err *e = err_new("%s", err_text(why));

	return err_get_hint(why) ? err_hint(e, "%s", err_get_hint(why)) : e;
}

/*
 * A user could stop the server of her own file system just then, and with it everybody's fork().
 */
static struct err *server_refused_err(void)
{
	return err_hint(err_new("a program may be the server of its file system, and every fork() "
				"would wait for that while a probe is placed"),
			"copy the file to a file system of the disk; else it needs proc_owner");
}

static void debug_refused_tell(const struct code_process *t, const struct code_file *o)
{
	env_notice(t->env,
		   "debug information for '%s' is not used: it is not in a file that only root or "
		   "the owner of '%s' can change; it needs proc_owner",
		   o->file.name, o->file.name);
}

const struct err *code_file_hold(struct code_process *t, struct code_file *o)
{
	CLEANUP(fd) int root = -1;
	bool is_refused = false;
	struct debug_search where;
	struct debug_trust trust;
	const struct err *why;

	if (file_open(t, o))
		return o->refused;
	if (!gate_file_is_probed(o->file.opened)) {
		o->refused = server_refused_err();
		return o->refused;
	}
	if (!o->nholds) {
		if (!o->image->funcs)
			root = process_root_open((uint64_t)t->at);
		where = debug_search_of(t, o, root);
		if (privileges_lack(t->env->privileges, LEVEL_PROC_OWNER)) {
			trust = (struct debug_trust){.user = t->env->privileges->uid,
						     .owner =
							     gate_file_stat(o->file.opened)->st_uid,
						     .refused = &is_refused};
			where.trust = &trust;
		}
		if (!image_funcs_hold(o->image, &where, &why)) {
			o->refused = why ? refused_copy(why) : open_failed(t, o, ETIMEDOUT);
			return o->refused;
		}
		o->funcs = o->image->funcs;
		o->file.is_32bit = o->funcs->is_32bit;
		o->has_doubted |= is_refused;
		if (is_refused)
			debug_refused_tell(t, o);
	}
	o->nholds++;
	return NULL;
}

void code_file_rest(struct code_file *o)
{
	if (--o->nholds)
		return;
	o->funcs = NULL;
	image_funcs_rest(o->image);
}

struct dwarf_file *code_file_dwarf(const struct code_process *t, const struct code_file *o)
{
	CLEANUP(fd) int root = -1;
	struct debug_search where;

	if (!o->image)
		return NULL;
	if (!o->image->is_dwarf_read)
		root = process_root_open((uint64_t)t->at);
	where = debug_search_of(t, o, root);
	return image_dwarf(o->image, &where);
}

void code_file_keep_types(struct code_file *o)
{
	if (!o->has_types)
		image_dwarf_hold(o->image);
	o->has_types = true;
}

static bool frame_begins_at(const struct code_file *o, uint64_t limit, uint64_t addr)
{
	unwind_fdes fdes = {0};
	bool is_there = false;
	struct gate_elf g;

	gate_elf_open(o->file.opened, limit, &g);
	if (g.elf)
		(void)unwind_fdes_read(&g, &fdes); /* if some are missing, less is found */
	for (uint32_t i = 0; i < fdes.len && !is_there; i++)
		is_there = fdes.data[i].addr == addr;
	vec_deinit(&fdes);
	gate_elf_close(&g);
	return is_there;
}

bool code_file_begins_at(const struct code_process *t, const struct code_file *o, uint64_t addr)
{
	const struct func *fn = funcs_at(o->funcs, addr);

	return (fn && fn->addr == addr) || frame_begins_at(o, t->env->files->limit, addr);
}

static struct ifunc_object ifunc_object(const struct code_file *o)
{
	return (struct ifunc_object){.file = o->file.opened,
				     .funcs = o->funcs,
				     .inode = o->file.inode};
}

static taddr chosen_by_any(struct code_process *t, struct code_file *o, const struct func *fn)
{
	struct ifunc_object own = ifunc_object(o);
	taddr chosen = t->target ? ifunc_chosen(t->target, &own, fn, &own) : 0;

	for (uint32_t i = 0; t->target && i < t->objects.len && !chosen; i++) {
		struct code_file *user = t->objects.data[i];
		struct ifunc_object importing;

		if (user == o || code_file_hold(t, user))
			continue;
		importing = ifunc_object(user);
		chosen = ifunc_chosen(t->target, &own, fn, &importing);
		code_file_rest(user);
	}
	return chosen;
}

bool code_file_chosen(struct code_process *t, struct code_file *o, const struct func *fn,
		      struct func *ret)
{
	taddr chosen = chosen_by_any(t, o, fn);
	struct ifunc_object own = ifunc_object(o);
	const struct func *known;
	uint64_t bias;

	if (!chosen || !ifunc_bias(target_maps(t->target), &own, &bias))
		return false;
	*ret = (struct func){.addr = chosen - bias,
			     .name = funcs_preferred(o->funcs, fn)->name,
			     .is_canonical = true};
	known = funcs_at(o->funcs, ret->addr);
	if (!funcs_off(o->funcs, ret->addr, &ret->off) || !code_file_begins_at(t, o, ret->addr))
		return false;
	if (known && known->addr == ret->addr) {
		ret->size = known->size;
		ret->is_sized = known->is_sized;
	}
	if (!ret->size)
		ret->size = funcs_room(o->funcs, ret->addr);
	return ret->size > 0;
}

const char *code_file_code_name(struct code_file *o, const struct func *fn)
{
	char *name;

	if (!o->funcs->has_ifuncs)
		return fn->name;
	if (!o->code_names)
		o->code_names = hashmap_create();
	name = hashmap_find(o->code_names, &fn->addr, sizeof(fn->addr));
	if (!name) {
		name = xstrdup(fn->name);
		hashmap_set(o->code_names, &fn->addr, sizeof(fn->addr), name);
	}
	return name;
}

/* True if asked is name without its version: "libc" or "libc.so" for "libc.so.6". */
static bool matches_without_version(const char *name, const char *asked)
{
	size_t len = strlen(asked);
	const char *rest = name + len;

	if (strncmp(name, asked, len) != 0)
		return false;
	if (strncmp(rest, ".so", 3) == 0)
		rest += 3;
	else if (len < 3 || strcmp(asked + len - 3, ".so") != 0)
		return false;
	return strspn(rest, ".0123456789") == strlen(rest);
}

/*
 * Skips the number of a link map, as in "LM0`libc.so.6". Linux processes have one list of objects,
 * so the number selects nothing.
 */
static const char *skip_link_map(const char *pattern)
{
	const char *tick = strchr(pattern, '`');

	if (!tick || strncmp(pattern, "LM", 2) != 0 ||
	    strspn(pattern + 2, "0123456789abcdefABCDEF") != (size_t)(tick - pattern) - 2)
		return pattern;
	return tick + 1;
}

bool code_file_matches(const struct code_file *o, const char *pattern)
{
	pattern = skip_link_map(pattern);
	if (glob_match(pattern, o->file.name) || (o->is_main && glob_match(pattern, "a.out")))
		return true;
	return glob_is_literal(pattern) && matches_without_version(o->file.name, pattern);
}
