/* SPDX-License-Identifier: MIT */
/*
 * Provider sdt: the events of tracefs, and the fields that the file `format` of each one describes.
 *
 * Owns     names and types lie in the arena of the registry.
 * Facts    the format of that file: Linux Documentation/trace/events.rst, 4.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "probe/place.h"

struct sdt_event {
	const char *group, *name;
	struct arena *arena; /* of the registry */
	struct probe *late;  /* of an event that has come while the session runs, if it is used */
	bool is_read; /* its format was read, or cannot be: then it has no fields, and id 0 */
	const char *types[PLACE_MAX_FIELDS];
	struct place_event record;
};

/*
 * Fills in the id, the fields and their types from the text of the file `format', which it cuts
 * into lines. A line that says nothing of the kind is passed over.
 */
void sdt_format_parse(struct sdt_event *ev, char *text);
