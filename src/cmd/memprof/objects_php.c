/* SPDX-License-Identifier: MIT */
/*
 * Objects and arrays of PHP 7.4 to 8.4.
 *
 * zend_objects_store_put() gets each object when it has its class. zend_object_std_dtor() gets it
 * when it is taken down: by its last reference, after its destructor, which may keep it, or by the
 * collector of cycles. Arrays get zend_array_destroy(), and from that collector
 * zend_hash_destroy(). At the end of a request what is left goes by other ways, so nothing is
 * followed from then on until the next request begins.
 *
 * Facts    offsets of zend_object (class at 16), zend_class_entry (name at 8), zend_string (text at
 *          24): PHP 7.4 to 8.4 Zend/zend_types.h, Zend/zend.h.
 */
#include "objects.h"

enum {
	PUT,
	DELETE,
	DESTROY,
	COLLECT,
	SHUTDOWN,
	STARTUP,
	ARRAY,
	ARRAY_EMPTY,
	ARRAY_COPY,
	ARRAYS_END
};

/* clang-format off */
static const char *const functions[] = {
	[PUT]         = "zend_objects_store_put",
	[DELETE]      = "zend_object_std_dtor",
	[DESTROY]     = "zend_array_destroy",
	[COLLECT]     = "zend_hash_destroy",
	[SHUTDOWN]    = "php_request_shutdown",
	[STARTUP]     = "php_request_startup",
	[ARRAY]       = "_zend_new_array",
	[ARRAY_EMPTY] = "_zend_new_array_0",
	[ARRAY_COPY]  = "zend_array_dup",
	[ARRAYS_END]  = NULL,
};
/* clang-format on */

#define CLASS_ARRAY 1

static void clause_begin(struct objects *o, size_t function)
{
	strbuf_addf(&o->d, "\npid$target:%s:%s:entry\n", o->module, functions[function]);
}

static bool php_program_make(struct objects *o)
{
	const char *count = o->m->is_created ? "sum(1)" : "live(arg0, 1)", *sep = "\n";

	class_name_note(o, CLASS_ARRAY, "array");
	strbuf_adds(&o->d, memprof_d_objects_php);
	strbuf_adds(&o->d, "\nprovider memprof {\n");
	for (size_t i = ARRAY; i < ARRAYS_END; i++)
		if (o->has[i])
			strbuf_addf(
				&o->d,
				"\tprobe array%zu(uintptr_t array) = pid:%s:%s:returned (arg1);\n",
				i, o->module, functions[i]);
	strbuf_adds(&o->d, "};\n");
	clause_begin(o, PUT);
	strbuf_addf(&o->d,
		    "/!ended/\n{\n\tthis->class = *(uint64_t *)copyin(arg0 + 16, 8);\n"
		    "\t@objects[lfile, lline, this->class] = %s;\n\t@hits = count();\n}\n",
		    count);
	clause_begin(o, PUT);
	strbuf_adds(&o->d, "/this->class && !known[this->class]/\n{\n"
			   "\t@names[this->class,"
			   " copyinstr(*(uint64_t *)copyin(this->class + 8, 8) + 24)] = count();\n"
			   "\tknown[this->class] = 1;\n}\n");
	for (size_t i = ARRAY; i < ARRAYS_END; i++)
		if (o->has[i]) {
			strbuf_addf(&o->d, "%smemprof$target:::array%zu", sep, i);
			sep = ",\n";
		}
	if (*sep == ',')
		strbuf_addf(&o->d,
			    "\n/!ended && arg0/\n{\n\t@objects[lfile, lline, (uint64_t)%d] = %s;\n"
			    "\t@hits = count();\n}\n",
			    CLASS_ARRAY, count);
	for (size_t i = DELETE; i <= COLLECT; i++)
		if (!o->m->is_created && o->has[i]) {
			clause_begin(o, i);
			strbuf_adds(&o->d, "/!ended/\n{\n\tdead(arg0);\n}\n");
		}
	for (size_t i = SHUTDOWN; i <= STARTUP; i++)
		if (o->has[i]) {
			clause_begin(o, i);
			strbuf_addf(&o->d, "{\n\tended = %d;\n}\n", i == SHUTDOWN);
		}
	return true;
}

const struct runtime runtime_php = {
	.name = "PHP",
	.functions = functions,
	.program_make = php_program_make,
};
