/* SPDX-License-Identifier: MIT */
/* The members of tasks, of their credentials and of their memory that rt_task_own() reads. */
#include "kernel/task_own.h"

#include <errno.h>
#include <sys/stat.h>

#include "kernel/kernel.h"

#define OFFSETS_MAX 4 /* in a word of 64 bits */

struct member {
	const char *strct, *path;
};

static const struct member of_task[OFFSETS_MAX] = {
	{"task_struct", "flags"},
	{"task_struct", "mm"},
	{"task_struct", "real_cred"},
	{"cred", "uid"},
};
static const struct member of_memory[OFFSETS_MAX] = {
	{"cred", "cap_permitted"},
	{"cred", "user_ns"},
	{"mm_struct", "flags"},
	{"mm_struct", "user_ns"},
};
static const struct member of_userns[OFFSETS_MAX] = {{"user_namespace", "ns.inum"}};

static struct err *members_pack(const struct member *m, uint64_t *ret)
{
	*ret = 0;
	for (uint32_t i = 0; i < OFFSETS_MAX && m[i].strct; i++) {
		uint32_t off;
		struct err *e = kfield_offset(m[i].strct, m[i].path, &off);

		if (e)
			return e;
		if (off > UINT16_MAX)
			return err_new("'%s' of 'struct %s' lies too far in it", m[i].path,
				       m[i].strct);
		*ret |= (uint64_t)off << (16 * i);
	}
	return NULL;
}

/* Whether the user and group ids of a cred follow each other as struct cred_ids has them. */
static bool ids_are_together(void)
{
	static const char *const names[] = {"uid", "gid", "suid", "sgid", "euid", "egid"};
	uint32_t first = 0;

	for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
		uint32_t off = 0;
		struct err *e = kfield_offset("cred", names[i], &off);
		bool is_missing = e != NULL;

		err_destroy(e);
		if (!i)
			first = off;
		if (is_missing || off != first + 4 * i)
			return false;
	}
	return true;
}

struct err *task_own_userns(uint32_t *ret)
{
	struct stat st;

	if (stat("/proc/self/ns/user", &st) < 0)
		return err_sys(errno, "cannot read /proc/self/ns/user, by which processes of the "
				      "user are known");
	*ret = (uint32_t)st.st_ino;
	return NULL;
}

struct err *task_own_find(uint32_t uid, uint32_t gid, uint32_t userns, struct task_own_args *ret)
{
	uint64_t inum;
	struct err *e;

	if (!ids_are_together())
		return err_new("this kernel's struct cred is not known: processes of users cannot "
			       "be told apart");
	e = members_pack(of_task, &ret->task);
	if (!e)
		e = members_pack(of_memory, &ret->memory);
	if (!e)
		e = members_pack(of_userns, &inum);
	if (e)
		return e;
	ret->inum = (uint64_t)gid << 32 | inum;
	ret->who = (uint64_t)userns << 32 | uid;
	return NULL;
}
