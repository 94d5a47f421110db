/*
 * Names of addresses, as a subscriber of the watch: what a process had mapped is known when it has
 * ended, or executed another program, and its addresses are printed.
 *
 * The context is the struct syms. Its owner calls syms_watch_begin() when the watch has begun.
 */
#pragma once

#include "watch/watch.h"

extern const struct watch_subscriber watch_names;
