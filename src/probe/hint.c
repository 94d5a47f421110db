/* SPDX-License-Identifier: MIT */
/*
 * Hints for a probe description that matches nothing: what to type instead.
 *
 * The provider gives the hint if it can. Otherwise one field after the other is left open: if
 * probes match then, that field is wrong, and the nearest name among those probes is suggested.
 */
#include "d/text/diag.h"
#include "probe/probe.h"

/*
 * Providers of other systems or later versions, and what answers the same question here; a '*' at
 * the end stands for a process id.
 */
/* clang-format off */
static const struct {
	const char *name, *instead;
} missing[] = {
	{ "fpuinfo",    "no processor that Linux runs on here simulates floating-point instructions" },
	{ "iscsi",      "the kernel's iSCSI target has no tracepoints of its own: rawtp:target:::, where the module is loaded" },
	{ "fc",         "the kernel's Fibre Channel has no tracepoints" },
	{ "srp",        "the kernel's SRP target has no tracepoints" },
	{ "smb",        "the kernel's SMB server has no tracepoints, Samba is a program like others: pid, syscall" },
	{ "smb2",       "the kernel's SMB server has no tracepoints, Samba is a program like others: pid, syscall" },
	{ "nfsv3",      "the file nfsv3.d of the D library declares it" },
	{ "nfsv4",      "the file nfsv4.d of the D library declares it" },
	{ "nfs",        "nfsv3 and nfsv4 have the calls of Linux's NFS server, sdt:nfs::: and sdt:nfs4::: the events of its client, where the modules are loaded" },
	{ "icmp",       "ip:::send and ip:::receive have the packets (args[4]->ipv4_protocol == IPPROTO_ICMP), mib:::icmp* counts them by type" },
	{ "vfs",        "fsinfo::: has what programs do with open files, syscall the calls with paths, sdt:ext4:::, sdt:xfs::: and others the file systems' events" },
	{ "sysevent",   "devices that come and go are told by udev: syscall::recvmsg:return in its process" },
	{ "xpv",        "sdt:xen::: has the events of Xen, where the kernel runs on it" },
	{ "kprobe", NULL }, { "prof", NULL }, { "rawfbt", NULL }, { "uprobe", NULL },
};
/* clang-format on */

bool probes_is_foreign(const char *prov)
{
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (missing[i].instead && glob_match(missing[i].name, prov))
			return true;
	return false;
}

static bool is_set(const char *field)
{
	return *field && glob_is_literal(field);
}

/* Names of probes in other tracers and in programs, with the name in D. */
static const char *const synonyms[][2] = {
	{"begin", "entry"}, {"call", "entry"},	 {"enter", "entry"}, {"exit", "return"},
	{"fork", "create"}, {"leave", "return"}, {"ret", "return"},  {"switch", "on-cpu"},
};

static const char *name_find(const char *name, const char *const *names, uint32_t n)
{
	for (uint32_t i = 0; name && i < n; i++)
		if (strcasecmp(name, names[i]) == 0)
			return names[i];
	return NULL;
}

const char *probe_name_nearest(const char *name, const char *const *names, uint32_t n)
{
	const char *call = strstr(name, "sys_"); /* of sys_read, __x64_sys_read, ksys_read */
	const char *near = name_find(name, names, n);
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]) && !near; i++)
		if (strcmp(name, synonyms[i][0]) == 0)
			near = name_find(synonyms[i][1], names, n);
	if (!near && call)
		near = name_find(call + strlen("sys_"), names, n);
	if (!near)
		near = diag_nearest(name, names, n);
	for (uint32_t i = 0; i < n && !near && len > 3; i++)
		if (strncmp(names[i], name, len) == 0 && names[i][len] == '-')
			near = names[i];
	return near;
}

static const char *hint_did_you_mean(struct probes *ps, const char *name, const char *const *names,
				     uint32_t n)
{
	const char *near = probe_name_nearest(name, names, n);

	return near ? arena_printf(probes_arena(ps), "did you mean '%s'?", near) : NULL;
}

static const char *hint_provider(struct probes *ps, const struct probe_desc *desc)
{
	struct arena *a = probes_arena(ps);
	const char *names[16], *near, *all = "";
	uint32_t n = 0;

	if (providers_of(ps) != provider_list)
		return "nothing runs in a core file, or while a process stands still: there are "
		       "the providers mapping, thread, frame, chunk and object";
	if (is_set(desc->prov) && provider_concerns(provider_list_remains[1], desc))
		return "it is a provider of what is left of a process: dtrace --core FILE|PID";
	for (uint32_t i = 0; provider_list[i] && n < 16; i++) {
		if (!*provider_list[i]->name)
			continue;
		if (provider_concerns(provider_list[i],
				      &(struct probe_desc){desc->prov, "", "", "", 0, false, 0}))
			return NULL;
		if (strcmp(provider_list[i]->name, "usdt") == 0)
			continue; /* programs' own probes, whose providers have other names */
		names[n++] = provider_list[i]->name;
		all = arena_printf(a, "%s%s%s", all, *all ? ", " : "", provider_list[i]->name);
	}
	for (uint32_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (glob_match(missing[i].name, desc->prov))
			return arena_printf(a,
					    "provider '%s' is not available in this version; %s%s",
					    desc->prov, missing[i].instead ? "" : "there are: ",
					    missing[i].instead ? missing[i].instead : all);
	if (strcmp(desc->prov, "pid") == 0)
		return "its name ends with a process id: pid123, or pid$target with -c or -p";
	near = hint_did_you_mean(ps, desc->prov, names, n);
	return near ? near
		    : arena_printf(
			      a,
			      "there are the providers %s, and those of the D library (proc, sched, io, ...): dtrace -l; "
			      "a program's own has a process id or a star behind its name: '%s$target', '%s*'",
			      all, desc->prov, desc->prov);
}

/* The offset of a field in struct probe and in struct probe_desc. */
struct field {
	size_t in_probe, in_desc;
};
#define FIELD(f)                                                                                   \
	{                                                                                          \
		offsetof(struct probe, f), offsetof(struct probe_desc, f)                          \
	}

static const struct field fields[] = {FIELD(name), FIELD(func), FIELD(mod)};

static const char **field_of(void *object, size_t off)
{
	return (const char **)((char *)object + off);
}

const char *probes_list_command(struct probes *ps, const struct probe_desc *desc)
{
	struct arena *a = probes_arena(ps);
	const char *pid = arena_printf(a, "%d", (int)probes_env(ps)->created);
	size_t len = strlen(desc->prov), digits = strlen(pid);
	struct probe_desc shown = *desc;

	if (!probes_env(ps)->created || len <= digits ||
	    strcmp(desc->prov + len - digits, pid) != 0 ||
	    (desc->prov[len - digits - 1] >= '0' && desc->prov[len - digits - 1] <= '9'))
		return arena_printf(a, "dtrace -ln '%s'", probe_desc_text(a, desc));
	shown.prov = arena_printf(a, "%.*s$target", (int)(len - digits), desc->prov);
	return arena_printf(a, "dtrace -ln '%s' -c COMMAND", probe_desc_text(a, &shown));
}

static const char *hint_field(struct probes *ps, const struct probe_desc *desc,
			      const struct field *f)
{
	struct probe_desc open = *desc;
	const char **wrong = field_of(&open, f->in_desc), *name = *wrong, **names, *hint;
	struct probe **probes;
	struct err *e;
	uint32_t n;

	if (!is_set(name))
		return NULL;
	*wrong = "";
	e = probes_match(ps, &open, &probes, &n);
	if (e || !n) {
		err_destroy(e); /* the error message of the description follows without a hint */
		return NULL;
	}
	names = ARENA_NEW_N(probes_arena(ps), const char *, n);
	for (uint32_t i = 0; i < n; i++)
		names[i] = *field_of(probes[i], f->in_probe);
	hint = hint_did_you_mean(ps, name, names, n);
	if (hint)
		return hint;
	if (!*open.prov && !*open.mod && !*open.func)
		return "dtrace -l lists what there is";
	return arena_printf(probes_arena(ps), "%s lists what there is",
			    probes_list_command(ps, &open));
}

/*
 * 'syscall::read' names a probe 'read', because the last field is the name. Suggests the
 * description with its fields moved to the left, if that matches.
 */
static const char *hint_shifted(struct probes *ps, const struct probe_desc *desc)
{
	struct probe_desc moved = {desc->mod, desc->func, desc->name, "", 0, false, 0};
	const char *text = probe_desc_text(probes_arena(ps), &moved);
	struct probe **probes;
	struct err *e;
	uint32_t n;

	if (*desc->prov || !is_set(desc->name))
		return NULL;
	e = probes_match(ps, &moved, &probes, &n);
	if (e || !n) {
		err_destroy(e); /* as in hint_field(): no hint */
		return NULL;
	}
	while (*text == ':')
		text++;
	return arena_printf(probes_arena(ps),
			    "the last field is the probe's name: '%s' matches any", text);
}

/*
 * 'syscall:read:entry' and 'io:start' lack empty fields behind the provider. Suggests the
 * description with them, if that matches.
 */
static const char *hint_widened(struct probes *ps, const struct probe_desc *desc)
{
	bool has_three = *desc->mod;
	struct probe_desc wide = {has_three ? desc->mod : desc->func,
				  "",
				  has_three ? desc->func : "",
				  desc->name,
				  0,
				  false,
				  0};
	struct probe **probes;
	struct err *e;
	uint32_t n;

	if (*desc->prov || !is_set(wide.prov) || !*desc->name)
		return NULL;
	e = probes_match(ps, &wide, &probes, &n);
	if (e || !n) {
		err_destroy(e); /* as in hint_field(): no hint */
		return NULL;
	}
	return arena_printf(probes_arena(ps), "a description has four fields: did you mean '%s'?",
			    probe_desc_text(probes_arena(ps), &wide));
}

const char *probes_absent(struct probes *ps, const struct probe_desc *desc)
{
	const struct provider *const *list = providers_of(ps);
	const char *why = NULL;

	for (uint32_t i = 0; list[i] && is_set(desc->prov) && !why; i++)
		if (list[i]->absent && provider_concerns(list[i], desc))
			why = list[i]->absent(probes_env(ps), list[i], desc);
	return why;
}

const char *probes_hint(struct probes *ps, const struct probe_desc *desc)
{
	const struct provider *const *list = providers_of(ps);
	const char *hint = hint_shifted(ps, desc);

	if (!hint)
		hint = hint_widened(ps, desc);
	for (uint32_t i = 0; list[i] && !hint; i++)
		if (list[i]->hint && provider_concerns(list[i], desc))
			hint = list[i]->hint(probes_env(ps), list[i], desc);
	if (!hint && is_set(desc->prov))
		hint = hint_provider(ps, desc);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && !hint; i++)
		hint = hint_field(ps, desc, &fields[i]);
	return hint;
}
