/* SPDX-License-Identifier: MIT */
/*
 * The subscriber of the watch that remembers what processes had mapped, so that addresses of a
 * process can be printed with names after it has ended or executed another program.
 *
 * The context is the struct syms. Its owner calls syms_watch_begin() when the watch has begun.
 */
#pragma once

#include "watch/watch.h"

extern const struct watch_subscriber watch_names;
