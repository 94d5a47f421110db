/* SPDX-License-Identifier: MIT */
/*
 * Sessions for the tests of the typed interface: compiles, enables and starts a program, and
 * compares what its callbacks saw.
 */
#pragma once

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "base/vec.h"
#include "dtrace.h"
#include "tap.h"

__attribute__((unused)) static dtrace_hdl_t *api_open(void)
{
	int error;
	dtrace_hdl_t *h = dtrace_open(DTRACE_VERSION, 0, &error);

	if (h)
		(void)dtrace_setopt(h, "quiet", NULL);
	return h;
}

__attribute__((unused)) static bool api_go(dtrace_hdl_t *h, const char *text)
{
	char name[] = "api";
	char *args[] = {name, NULL};
	dtrace_prog_t *p;

	(void)dtrace_setopt(h, "defaultargs", NULL);
	p = dtrace_program_strcompile(h, text, DTRACE_PROBESPEC_NAME, 0, 1, args);
	if (p && dtrace_program_exec(h, p, NULL) == 0 && dtrace_go(h) == 0)
		return ok(true, "goes");
	return ok(false, "%s", dtrace_errmsg(h, dtrace_errno(h)));
}

__attribute__((unused)) static dtrace_hdl_t *api_start(const char *text)
{
	dtrace_hdl_t *h = api_open();

	(void)api_go(h, text);
	return h;
}

/* Consumes all there is; DONE or ERROR. */
__attribute__((unused)) static dtrace_workstatus_t api_work(dtrace_hdl_t *h, FILE *fp,
							    dtrace_consume_probe_f *probe,
							    dtrace_consume_rec_f *rec, void *arg)
{
	dtrace_workstatus_t status;

	do {
		status = dtrace_work(h, fp, probe, rec, arg);
		if (status == DTRACE_WORKSTATUS_OKAY)
			dtrace_sleep(h);
	} while (status == DTRACE_WORKSTATUS_OKAY);
	return status;
}

__attribute__((unused)) static void api_call(uint32_t n)
{
	while (n--)
		(void)syscall(SYS_getppid);
}
