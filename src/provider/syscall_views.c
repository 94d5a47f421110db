/* SPDX-License-Identifier: MIT */
/*
 * Views: system calls that do the work of others, with the arguments of those (providers.md 4.4).
 *
 * Programs open files with openat(), where scripts of other systems expect open() with the path in
 * arg0. Each row shows a Linux call, or the variant of it that its flags select, as the call that
 * the script names. A variant of a call has at most one view.
 *
 * Facts    flags: Linux include/uapi/linux/fcntl.h, sched.h (clone_args begins with the flags);
 *          struct open_how is flags, mode, resolve, 8 bytes each: include/uapi/linux/openat2.h.
 */
#include "provider/syscalls.h"

#define AT_NOFOLLOW	0x100
#define AT_REMOVE_DIR	0x200
#define AT_EMPTY	0x1000
#define ANY_BIT		UINT32_MAX
#define CLONE_OF_VFORK	0x4000
#define CLONE_OF_THREAD 0x10000
#define CREAT_FLAGS	0x241 /* O_CREAT | O_WRONLY | O_TRUNC: what creat() means */
#define OPEN_HOW_FLAGS	0
#define OPEN_HOW_MODE	8

/* clang-format off */
static const struct sys_split
	flags2  = { 2, false, false, { AT_EMPTY, AT_NOFOLLOW } },
	flags3  = { 3, false, false, { AT_EMPTY, AT_NOFOLLOW } },
	flags4  = { 4, false, false, { AT_EMPTY, AT_NOFOLLOW } },
	remove2 = { 2, false, false, { AT_REMOVE_DIR } },
	set2    = { 2, false, false, { ANY_BIT } }, /* bits of the new limit's address */
	clone0  = { 0, false, true,  { CLONE_OF_THREAD, CLONE_OF_VFORK } },
	clone3  = { 0, true,  true,  { CLONE_OF_THREAD, CLONE_OF_VFORK } };
enum { FOLLOW, EMPTY, NOFOLLOW };  /* variants of flagsN */
enum { FILE_ONLY, DIRECTORY };     /* of remove2 */
enum { GET, SET };                 /* of set2 */
enum { PROCESS, THREAD, VFORK };   /* of clone0, clone3 */

#define R(n)      { SYS_ARG_REG, n, 0 }
#define K(value)  { SYS_ARG_CONST, 0, value }
#define U(n, off) { SYS_ARG_USER, n, off }
#define OWN       { R(0), R(1), R(2), R(3), R(4), R(5) }

const struct syscall_view syscall_views[] = {
	/* call        as            variant    split      arguments */
	{ "openat",    "open",       0,         { NULL,     { R(1), R(2), R(3) } } },
	{ "openat2",   "open",       0,         { NULL,     { R(1), U(2, OPEN_HOW_FLAGS), U(2, OPEN_HOW_MODE) } } },
	{ "creat",     "open",       0,         { NULL,     { R(0), K(CREAT_FLAGS), R(1) } } },
	{ "newfstatat", "stat",      FOLLOW,    { &flags3,  { R(1), R(2) } } },
	{ "newfstatat", "lstat",     NOFOLLOW,  { &flags3,  { R(1), R(2) } } },
	{ "newfstatat", "fstat",     EMPTY,     { &flags3,  { R(0), R(2) } } },
	{ "fstatat64", "stat",       FOLLOW,    { &flags3,  { R(1), R(2) } } },
	{ "fstatat64", "lstat",      NOFOLLOW,  { &flags3,  { R(1), R(2) } } },
	{ "fstatat64", "fstat",      EMPTY,     { &flags3,  { R(0), R(2) } } },
	{ "statx",     "stat",       FOLLOW,    { &flags2,  { R(1), R(4) } } },
	{ "statx",     "lstat",      NOFOLLOW,  { &flags2,  { R(1), R(4) } } },
	{ "statx",     "fstat",      EMPTY,     { &flags2,  { R(0), R(4) } } },
	{ "faccessat", "access",     0,         { NULL,     { R(1), R(2) } } },
	{ "faccessat2", "access",    0,         { NULL,     { R(1), R(2) } } },
	{ "unlinkat",  "unlink",     FILE_ONLY, { &remove2, { R(1) } } },
	{ "unlinkat",  "rmdir",      DIRECTORY, { &remove2, { R(1) } } },
	{ "mkdirat",   "mkdir",      0,         { NULL,     { R(1), R(2) } } },
	{ "renameat",  "rename",     0,         { NULL,     { R(1), R(3) } } },
	{ "renameat2", "rename",     0,         { NULL,     { R(1), R(3) } } },
	{ "linkat",    "link",       0,         { NULL,     { R(1), R(3) } } },
	{ "symlinkat", "symlink",    0,         { NULL,     { R(0), R(2) } } },
	{ "readlinkat", "readlink",  0,         { NULL,     { R(1), R(2), R(3) } } },
	{ "fchmodat",  "chmod",      0,         { NULL,     { R(1), R(2) } } },
	{ "fchmodat2", "chmod",      0,         { NULL,     { R(1), R(2) } } },
	{ "fchownat",  "chown",      FOLLOW,    { &flags4,  { R(1), R(2), R(3) } } },
	{ "fchownat",  "lchown",     NOFOLLOW,  { &flags4,  { R(1), R(2), R(3) } } },
	{ "fchownat",  "fchown",     EMPTY,     { &flags4,  { R(0), R(2), R(3) } } },
	{ "mknodat",   "mknod",      0,         { NULL,     { R(1), R(2), R(3) } } },
	{ "utimensat", "utimes",     0,         { NULL,     { R(1), R(2) } } },
	{ "futimesat", "utimes",     0,         { NULL,     { R(1), R(2) } } },
	{ "execveat",  "execve",     0,         { NULL,     { R(1), R(2), R(3) } } },
	{ "tgkill",    "tkill",      0,         { NULL,     { R(1), R(2) } } },
	{ "clock_nanosleep", "nanosleep", 0,    { NULL,     { R(2), R(3) } } },
	{ "prlimit64", "getrlimit",  GET,       { &set2,    { R(1), R(3) } } },
	{ "prlimit64", "setrlimit",  SET,       { &set2,    { R(1), R(2) } } },
	{ "setresuid", "seteuid",    0,         { NULL,     { R(1) } } },
	{ "setresgid", "setegid",    0,         { NULL,     { R(1) } } },
	{ "clone",     "fork",       PROCESS,   { &clone0,  OWN } },
	{ "clone",     "vfork",      VFORK,     { &clone0,  OWN } },
	{ "clone",     "lwp_create", THREAD,    { &clone0,  OWN } },
	{ "clone3",    "fork",       PROCESS,   { &clone3,  OWN } },
	{ "clone3",    "vfork",      VFORK,     { &clone3,  OWN } },
	{ "clone3",    "lwp_create", THREAD,    { &clone3,  OWN } },
};
/* clang-format on */
const uint32_t syscall_nviews = ARRAY_LEN(syscall_views);

bool syscall_view_moves_args(const struct syscall_view *v)
{
	for (uint32_t k = 0; k < ARRAY_LEN(v->sys.args); k++)
		if (v->sys.args[k].kind != SYS_ARG_REG || v->sys.args[k].arg != k)
			return true;
	return false;
}
