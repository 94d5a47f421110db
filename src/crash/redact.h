/* SPDX-License-Identifier: MIT */
/*
 * What of arguments and environment may stand in a report.
 *
 * Reports are read by more people than the process is: mails, posts, tickets. So the values of
 * variables are shown by a list of harmless names only, and values that look like secrets are
 * masked in arguments and URLs.
 *
 * Owns     nothing.
 * Errors   none. A secret whose name says nothing of it is not known as one.
 */
#pragma once

#include "base/str.h"

/* Whether the value of the variable of that name, len bytes, may be shown. */
bool redact_is_harmless(const char *name, size_t len);
/* Whether a name says that its value is a secret: "db-password", "API_TOKEN". */
bool redact_is_secret(const char *name, size_t len);
/*
 * Adds an argument without secrets. *mask_next: the one before it was a name ("--password"), and
 * this one is its value; set for the next one.
 */
void redact_arg(struct strbuf *out, const char *arg, size_t len, bool *mask_next);
