/* SPDX-License-Identifier: MIT */
/*
 * Whose a path is. The kernel starts the program of core_pattern as root whenever a process dies:
 * who can replace that program, or rename a directory above it, is root.
 *
 * The path must have no symbolic links (realpath(3)), so that its components are the directories
 * that count.
 */
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash/install.h"

/* What is wrong with the owner or the mode; NULL: nothing. */
static const char *stat_fault(const struct stat *st, bool may_be_sticky)
{
	if (st->st_uid != 0)
		return "does not belong to root";
	if (may_be_sticky && S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX)
		return NULL;
	if (st->st_mode & S_IWOTH)
		return "can be written by everybody";
	if (st->st_mode & S_IWGRP && st->st_gid != 0)
		return "can be written by a group that is not root's";
	return NULL;
}

/* Checks all directories above a path. */
static struct err *above_check(const char *path, bool may_be_sticky)
{
	CLEANUP(free) char *above = xstrdup(path);
	char *slash;

	while ((slash = strrchr(above, '/'))) {
		const char *fault;
		struct stat st;

		*slash = '\0';
		if (lstat(*above ? above : "/", &st) != 0)
			return err_sys(errno, "cannot look at '%s'", *above ? above : "/");
		fault = stat_fault(&st, may_be_sticky);
		if (fault)
			return err_new("'%s', which is above '%s', %s", *above ? above : "/", path,
				       fault);
	}
	return NULL;
}

struct err *crash_program_check(const char *path)
{
	CLEANUP(free) char *real = realpath(path, NULL);
	const char *fault;
	struct stat st;
	struct err *e;

	if (*path != '/')
		return err_new("the path of the capturer, '%s', is not absolute", path);
	if (!real || lstat(real, &st) != 0)
		return err_hint(err_sys(errno, "there is no capturer '%s'", path),
				"it is part of the package fathom; --capturer names another one");
	if (strcmp(real, path) != 0)
		return err_hint(err_new("the path of the capturer, '%s', has symbolic links", path),
				"its own path is '%s'", real);
	if (!S_ISREG(st.st_mode) || !(st.st_mode & S_IXUSR))
		return err_new("the capturer '%s' is no program", path);
	fault = stat_fault(&st, false);
	if (fault)
		e = err_new("the capturer '%s' %s", path, fault);
	else
		e = above_check(path, false);
	return e ? err_hint(e, "the kernel starts it as root when a process dies: it and all "
			       "directories above it must be root's, and writable by root only")
		 : NULL;
}

struct err *crash_above_check(const char *path)
{
	return above_check(path, false);
}

struct err *crash_folder_check(const char *path)
{
	CLEANUP(free) char *real = realpath(path, NULL);
	const char *fault;
	struct stat st;

	if (!real || lstat(real, &st) != 0)
		return err_sys(errno, "cannot look at '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return err_new("'%s' is no directory", path);
	fault = stat_fault(&st, false);
	if (fault)
		return err_new("'%s' %s", path, fault);
	if (st.st_mode & 077)
		return err_hint(err_new("'%s' can be entered by others", path), "chmod 700 '%s'",
				path);
	return above_check(real, true);
}
