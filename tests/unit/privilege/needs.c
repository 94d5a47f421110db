/* SPDX-License-Identifier: MIT */
/*
 * The table of levels has a row for each variable, function and action that the compiler has, and
 * for each provider: what is new has to be decided.
 */
#include "d/check/builtin.h"
#include "privilege/needs.h"
#include "provider/providers.h"
#include "tap.h"

static const struct {
	const char *name;
	uint32_t level;
	bool is_about_task;
} wanted_variables[] = {
	{"curthread", LEVEL_KERNEL, false},  {"caller", LEVEL_KERNEL, false},
	{"stackdepth", LEVEL_KERNEL, false}, {"execname", LEVEL_USER, true},
	{"ucaller", LEVEL_PROC, true},	     {"timestamp", LEVEL_USER, false},
};

static const struct {
	const char *name;
	uint32_t level;
	bool is_about_task;
} wanted_calls[] = {
	{"stack", LEVEL_KERNEL, false}, {"chill", LEVEL_KERNEL, false},
	{"getf", LEVEL_KERNEL, false},	{"sym", LEVEL_KERNEL, false},
	{"pcap", LEVEL_KERNEL, false},	{"stop", LEVEL_PROC, true},
	{"copyout", LEVEL_PROC, true},	{"copyinstr", 0, true},
	{"printf", 0, false},
};

static void rows_are_complete(void)
{
	for (uint32_t i = 0; i < nbuiltin_vars; i++)
		ok(need_of_variable(builtin_vars[i].name).is_known, "variable %s is decided",
		   builtin_vars[i].name);
	for (uint32_t i = 0; i < nsubrs; i++)
		ok(need_of_call(subrs[i].name).is_known || subrs[i].why, "%s( ) is decided",
		   subrs[i].name);
	for (uint32_t i = 0; provider_list[i]; i++)
		if (*provider_list[i]->name)
			ok(need_of_provider(provider_list[i]->name).is_known,
			   "provider %s is decided", provider_list[i]->name);
}

static const char *const option_names[] = {
#define OPT(id, name, ...) name,
#include "session/options.def"
};

static void options_are_decided(void)
{
	bool is_known;

	for (size_t i = 0; i < ARRAY_LEN(option_names); i++) {
		(void)need_of_option(option_names[i], &is_known);
		ok(is_known, "option %s is decided", option_names[i]);
	}
	is_int(need_of_option("none", &is_known), LEVELS_ALL, "an unknown option");
	ok(!is_known, "an unknown option is not decided");
	is_int(need_of_option("bpflog", &is_known), LEVEL_KERNEL, "bpflog");
	is_int(need_of_option("syslibdir", &is_known), LEVELS_ALL, "syslibdir");
	is_int(need_of_option("quiet", &is_known), 0, "quiet");
}

int main(void)
{
	rows_are_complete();
	options_are_decided();
	for (size_t i = 0; i < ARRAY_LEN(wanted_variables); i++) {
		struct need n = need_of_variable(wanted_variables[i].name);

		ok(n.level == wanted_variables[i].level &&
			   n.is_about_task == wanted_variables[i].is_about_task,
		   "level of %s", wanted_variables[i].name);
	}
	for (size_t i = 0; i < ARRAY_LEN(wanted_calls); i++) {
		struct need n = need_of_call(wanted_calls[i].name);

		ok(n.level == wanted_calls[i].level &&
			   n.is_about_task == wanted_calls[i].is_about_task,
		   "level of %s( )", wanted_calls[i].name);
	}
	is_int(need_of_provider("syscall").level, LEVEL_USER, "syscall");
	is_int(need_of_provider("pid").level, LEVEL_PROC, "pid");
	is_int(need_of_provider("fbt").level, LEVEL_KERNEL, "fbt");
	is_int(need_of_provider("none").level, LEVEL_KERNEL, "an unknown provider");
	is_int(need_of_variable("none").level, LEVEL_KERNEL, "an unknown variable");
	is_int(need_of_call("none").level, LEVEL_KERNEL, "an unknown function");
	ok(need_of_member("psinfo", "pr_pid").is_known, "pr_pid is a value");
	ok(!need_of_member("psinfo", "pr_addr").is_known, "pr_addr is an address of the kernel");
	ok(!need_of_member("lwpsinfo", "pr_wchan").is_known, "pr_wchan is one");
	ok(!need_of_member("psinfo_t", "pr_pid").is_known &&
		   !need_of_member(NULL, "pr_pid").is_known,
	   "members are those of a tag");
	is_int(need_of_variable("curpsinfo").level, LEVEL_USER, "curpsinfo");
	is_int(need_of_probe("proc", "exec-success").level, LEVEL_USER, "proc:::exec-success");
	ok(need_of_probe("proc", "signal-send").has_other, "proc:::signal-send has a second task");
	ok(!need_of_probe("proc", "create").has_other, "that of proc:::create is its own");
	is_int(need_of_probe("proc", "exec").args, 1, "args[0] of proc:::exec");
	is_int(need_of_probe("io", "start").own, 3, "args[0] and args[1] of io:::start");
	is_int(need_of_probe("io", "done").level, LEVEL_KERNEL, "io:::done");
	return tap_done();
}
