/* SPDX-License-Identifier: MIT */
/* Building programs with probes of their own: -h and -G. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"

/* "dir/probes.d" -> "probes.h", "d.out" -> "d.out", in the current directory. To be freed. */
static char *default_output(struct cmd *c, const char *script, const char *suffix)
{
	const char *base = basename(script);
	size_t len = strlen(base);
	char *path;

	if (!c->progs[0].is_file)
		suffix = "";
	if (len > 2 && strcmp(base + len - 2, ".d") == 0)
		len -= 2;
	if (asprintf(&path, "%.*s%s", (int)len, base, suffix) < 0)
		cmd_fatal_sys(c, ENOMEM, "failed to allocate memory for a name");
	return path;
}

/*
 * A file that takes the output's place when it is whole. It is beside the file that the output's
 * name leads to, through symbolic links; for a device or a pipe, which must stay what it is, it has
 * no name, and is copied.
 */
struct output {
	const char *path; /* as it was given */
	char *real;
	char *temp; /* NULL: there is no name */
	FILE *fp;
};

static void output_open(struct cmd *c, struct output *o, const char *path)
{
	mode_t mask = umask(0);
	struct stat st;
	int fd;

	umask(mask);
	o->path = path;
	o->temp = NULL;
	o->real = realpath(path, NULL); /* none of /dev/stdout, if this is a pipe */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		o->fp = tmpfile();
		if (!o->fp)
			cmd_fatal_sys(c, errno, "failed to create a temporary file for %s", path);
		return;
	}
	if (asprintf(&o->temp, "%s.XXXXXX", o->real ? o->real : path) < 0)
		cmd_fatal_sys(c, ENOMEM, "failed to allocate memory for a name");
	fd = mkostemp(o->temp, O_CLOEXEC);
	if (fd < 0 || fchmod(fd, 0666 & ~mask) != 0)
		cmd_fatal_sys(c, errno, "failed to create %s", path);
	o->fp = fdopen(fd, "w");
	if (!o->fp)
		cmd_fatal_sys(c, errno, "failed to create %s", path);
}

/* Copies what was written to the device or pipe; false: errno says why not. */
static bool output_copy(const struct output *o)
{
	FILE *to = fopen(o->path, "we");
	bool is_written = true;
	char buf[4096];
	size_t n;

	if (!to)
		return false;
	rewind(o->fp);
	while (is_written && (n = fread(buf, 1, sizeof(buf), o->fp)) > 0)
		is_written = fwrite(buf, 1, n, to) == n;
	is_written &= !ferror(o->fp);
	return (fclose(to) == 0) & is_written;
}

static void output_drop(const struct output *o)
{
	if (o->temp)
		(void)unlink(o->temp);
}

static void output_finish(struct cmd *c, struct output *o)
{
	bool is_written = fflush(o->fp) == 0 && !ferror(o->fp);

	if (!o->temp)
		is_written = is_written && output_copy(o);
	is_written &= fclose(o->fp) == 0;
	if (!is_written || (o->temp && rename(o->temp, o->real ? o->real : o->path) != 0)) {
		int sys = errno;

		output_drop(o);
		cmd_fatal_sys(c, sys, "failed to write %s", o->path);
	}
	free(o->temp);
	free(o->real);
}

/*
 * Returns the name of the provider definition, from which the output's default name is made: a
 * file, or "d.out" if the definition is in the command line.
 */
static const char *find_script(struct cmd *c)
{
	if (!c->nprogs)
		cmd_fatal(c, "-%c needs a file with a provider definition: -s FILE.d\n",
			  c->mode == MODE_HEADER ? 'h' : 'G');
	if (c->mode == MODE_HEADER && c->argc > 1)
		cmd_fatal(c,
			  "-h takes no operand beside the provider definition: '%s'\n"
			  "hint: each file with a definition has a -s of its own\n",
			  c->argv[1]);
	if (c->progs[0].is_file)
		return c->progs[0].text;
	if (c->mode == MODE_HEADER && !c->out_path)
		cmd_fatal(c, "the header of a definition in the command line has no name\n"
			     "hint: name it with -o\n");
	return "d.out";
}

/* Writes the header or the object; false: the library says why not. */
static bool output_write(struct cmd *c, const struct output *o, const char *script)
{
	if (c->mode == MODE_HEADER)
		return dtrace_program_header(c->dtp, o->fp, basename(o->path), basename(script)) ==
		       0;
	return dtrace_program_object(c->dtp, fileno(o->fp), c->is_ilp32 ? DTRACE_OBJECT_ILP32 : 0,
				     c->argc - 1, c->argv + 1) == 0;
}

/*
 * Refuses an output that is one of the program's objects: by default "shop.d" makes "shop.o", and so
 * does a source file of that name.
 */
static void output_check(struct cmd *c, const char *path)
{
	struct stat out, obj;

	if (c->mode != MODE_LINK || stat(path, &out) != 0)
		return;
	for (int i = 1; i < c->argc; i++)
		if (stat(c->argv[i], &obj) == 0 && obj.st_dev == out.st_dev &&
		    obj.st_ino == out.st_ino)
			cmd_fatal(
				c,
				"the probe object would overwrite '%s', an object of the program\n"
				"hint: give the probe object another name with -o\n",
				c->argv[i]);
}

static void output_make(struct cmd *c, const char *script)
{
	bool is_header = c->mode == MODE_HEADER;
	char *path = c->out_path ? strdup(c->out_path)
				 : default_output(c, script, is_header ? ".h" : ".o");
	struct output out;

	if (!path)
		cmd_fatal_sys(c, ENOMEM, "failed to allocate memory for a name");
	output_check(c, path);
	output_open(c, &out, path);
	if (!output_write(c, &out, script)) {
		output_drop(&out);
		if (is_header)
			cmd_fatal(c, "failed to create header file %s", path);
		cmd_fatal(c, "failed to link script %s", script);
	}
	output_finish(c, &out);
	free(path);
}

/* Shows what the library has to say of a program that it builds all the same. */
static int notice_print(dtrace_hdl_t *dtp, const char *msg, void *arg)
{
	(void)dtp;
	(void)arg;
	(void)fprintf(stderr, "dtrace: %s", msg);
	return DTRACE_HANDLE_OK;
}

int cmd_build(struct cmd *c)
{
	const char *script = find_script(c);
	int nobjs = c->argc - 1;

	c->cflags = DTRACE_C_ZDEFS | DTRACE_C_PROVIDERS;
	c->argc = 1; /* operands are object files, not arguments of the script */
	cmd_compile(c);
	c->argc += nobjs;
	if (dtrace_handle_notice(c->dtp, notice_print, NULL) != 0)
		cmd_fatal(c, "failed to establish notice handler");
	output_make(c, script);
	return E_SUCCESS;
}
