/* SPDX-License-Identifier: MIT */
/* The files that a target has mapped, with their symbols. */
#include "image/object.h"

#include <errno.h>

#include "image/debugfile.h"
#include "image/dwarf_names.h"
#include "image/image.h"
#include "mdb/impl.h"

struct debug_search mdb_object_search(const struct mdb *m, const struct mdb_object *o)
{
	return (struct debug_search){.path = o->map->path,
				     .root = -1,
				     .dirs = m->files->debug_dirs,
				     .limit = m->files->limit,
				     .gate = m->files->gate,
				     .dev = o->map->dev,
				     .ino = o->map->ino};
}

static void mapped_add(struct mdb *m, const struct proc_map *map)
{
	struct mdb_object o = {.start = map->start, .end = map->end, .map = map};
	const struct proc_maps *maps = target_maps(m->t);
	const char *slash = strrchr(map->path, '/');

	o.name = slash ? slash + 1 : map->path;
	for (uint32_t i = 0; proc_map_has_file(map) && i < maps->maps.len; i++)
		if (proc_map_is_same_file(&maps->maps.data[i], map))
			o.end = MAX(o.end, maps->maps.data[i].end);
	o.image = proc_map_has_file(map) && map->path[0] == '/'
			  ? target_image(m->t, m->files->images, map)
			  : NULL;
	if (o.image) {
		image_pin(o.image);
		o.has_bias = object_bias(image_object(o.image, m->files->limit), map->start,
					 map->off, map->is_exec, &o.bias);
	}
	vec_push(&m->objects, o);
}

void mdb_objects_make(struct mdb *m)
{
	const struct proc_maps *maps = target_maps(m->t);

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *map = &maps->maps.data[i];
		bool is_known = strcmp(map->path, "[vdso]") != 0 && !proc_map_has_file(map);

		for (uint32_t k = 0; k < m->objects.len && !is_known; k++)
			is_known = proc_map_has_file(map) &&
				   proc_map_is_same_file(m->objects.data[k].map, map);
		if (!is_known)
			mapped_add(m, map);
	}
}

void mdb_objects_free(struct mdb *m)
{
	for (uint32_t i = 0; i < m->objects.len; i++) {
		struct mdb_object *o = &m->objects.data[i];

		dwarf_names_destroy(o->names);
		if (o->is_dwarf_held)
			image_dwarf_rest(o->image);
		image_unpin(o->image);
		image_put(o->image);
	}
	vec_deinit(&m->objects);
}

const struct mdb_object *mdb_object_named(const struct mdb *m, const char *name)
{
	size_t len = strlen(name);

	for (uint32_t i = 0; i < m->objects.len; i++) {
		const struct mdb_object *o = &m->objects.data[i];

		if (strcmp(o->name, name) == 0 || strcmp(o->map->path, name) == 0)
			return o;
	}
	for (uint32_t i = 0; i < m->objects.len; i++) {
		const struct mdb_object *o = &m->objects.data[i];

		if (strncmp(o->name, name, len) == 0 && strncmp(o->name + len, ".so", 3) == 0)
			return o;
	}
	return NULL;
}

const struct mdb_object *mdb_object_at(const struct mdb *m, taddr addr)
{
	const struct proc_map *map = proc_maps_find(target_maps(m->t), addr);

	for (uint32_t i = 0; map && i < m->objects.len; i++) {
		const struct mdb_object *o = &m->objects.data[i];

		if (o->map == map || (proc_map_has_file(map) && proc_map_is_same_file(o->map, map)))
			return o;
	}
	return NULL;
}

static bool symbol_of(struct mdb *m, const struct mdb_object *o, const char *name, uint64_t *ret)
{
	struct object_symbol sym;

	if (!o->has_bias || !object_symbol(image_object(o->image, m->files->limit), name, &sym) ||
	    sym.is_tls || sym.is_ambiguous)
		return false;
	*ret = sym.addr + o->bias;
	return true;
}

bool mdb_symbol_find(struct mdb *m, const char *object, const char *name, uint64_t *ret)
{
	const struct mdb_object *o = object ? mdb_object_named(m, object) : NULL;

	if (object)
		return o && symbol_of(m, o, name, ret);
	for (uint32_t i = 0; i < m->objects.len; i++)
		if (symbol_of(m, &m->objects.data[i], name, ret))
			return true;
	return false;
}

const struct elf_sym *mdb_symbol_at(struct mdb *m, const struct mdb_object *o, taddr addr)
{
	struct debug_search where = mdb_object_search(m, o);

	if (!o->has_bias || !image_syms_read(o->image, &where) || !o->image->syms)
		return NULL;
	return elf_syms_find(o->image->syms, addr - o->bias);
}
