/* Building programs with probes of their own: -h and -G. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "dir/probes.d" -> "probes.h", in the current directory. To be freed. */
static char *default_output(struct cmd *c, const char *script, const char *suffix)
{
	const char *base = base_name(script);
	size_t len = strlen(base);
	char *path;

	if (len > 2 && strcmp(base + len - 2, ".d") == 0)
		len -= 2;
	if (asprintf(&path, "%.*s%s", (int)len, base, suffix) < 0)
		cmd_fatal_sys(c, ENOMEM, "failed to allocate memory for a name");
	return path;
}

/* A file beside the output, which takes its place when it is whole. */
struct output {
	const char *path;
	char *temp;
	FILE *fp;
};

static void output_open(struct cmd *c, struct output *o, const char *path)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	o->path = path;
	if (asprintf(&o->temp, "%s.XXXXXX", path) < 0)
		cmd_fatal_sys(c, ENOMEM, "failed to allocate memory for a name");
	fd = mkostemp(o->temp, O_CLOEXEC);
	if (fd < 0 || fchmod(fd, 0666 & ~mask) != 0)
		cmd_fatal_sys(c, errno, "failed to create %s", path);
	o->fp = fdopen(fd, "w");
	if (!o->fp)
		cmd_fatal_sys(c, errno, "failed to create %s", path);
}

static void output_finish(struct cmd *c, struct output *o)
{
	bool is_written = !ferror(o->fp);

	is_written &= fclose(o->fp) == 0;
	if (!is_written || rename(o->temp, o->path) != 0) {
		int sys = errno;

		(void)unlink(o->temp);
		cmd_fatal_sys(c, sys, "failed to write %s", o->path);
	}
	free(o->temp);
}

/* Returns the file with the provider definition. */
static const char *find_script(struct cmd *c)
{
	if (c->nprogs && c->progs[0].is_file)
		return c->progs[0].text;
	cmd_fatal(c, "-%c needs a file with a provider definition: -s FILE.d\n",
		  c->mode == MODE_HEADER ? 'h' : 'G');
}

/* Writes the header or the object; false: the library says why not. */
static bool output_write(struct cmd *c, const struct output *o, const char *script)
{
	if (c->mode == MODE_HEADER)
		return dtrace_program_header(c->dtp, o->fp, base_name(o->path),
					     base_name(script)) == 0;
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
		(void)unlink(out.temp);
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
