/* SPDX-License-Identifier: MIT */
/* Says which modules of the kernel come and go: the kernel reports that to whoever listens. */
#include "kernel/kernel.h"

#include "kernel/uevents.h"

int modules_listen(void)
{
	return uevents_listen();
}

/* Reads "add@/module/NAME" or "remove@/module/NAME"; false: it is something else. */
static bool report_read(const char *text, struct module_event *ret)
{
	static const char came[] = "add@/module/", gone[] = "remove@/module/";
	bool has_come = strncmp(text, came, strlen(came)) == 0;
	const char *name = text + (has_come ? strlen(came) : strlen(gone));
	size_t size;

	if ((!has_come && strncmp(text, gone, strlen(gone)) != 0) || strchr(name, '/'))
		return false;
	size = strlen(name) + 1;
	if (size > sizeof(ret->name))
		return false;
	ret->kind = has_come ? MODULE_COME : MODULE_GONE;
	memcpy(ret->name, name, size);
	return true;
}

bool modules_next(int fd, struct module_event *ret)
{
	char text[4096];
	enum uevent got;

	while ((got = uevents_next(fd, text, sizeof(text))) == UEVENT_READ)
		if (report_read(text, ret))
			return true;
	ret->kind = MODULE_LOST;
	return got == UEVENT_LOST;
}
