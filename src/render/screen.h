/* SPDX-License-Identifier: MIT */
/*
 * A terminal whose whole screen is drawn again and again.
 *
 * It needs no library: what it uses of the terminal is ECMA-48 and the second screen of
 * xterm, which every terminal emulator of Linux has. TERM "dumb", or none, is no such terminal.
 *
 * The terminal is restored however the process ends: a child waits until its parent closes the
 * screen or is gone, SIGKILL included, and restores it then.
 */
#pragma once

#include "base/base.h"

struct screen;

/* NULL: standard output is no terminal that can be drawn on. */
struct screen *screen_open(void);
/* Restores the terminal. NULL is allowed. */
void screen_close(struct screen *s);

/* Begins a picture; returns how many lines there are. */
uint32_t screen_begin(struct screen *s);
enum screen_style { SCREEN_PLAIN, SCREEN_HEAD, SCREEN_TITLE, SCREEN_PALE, SCREEN_BAD };
/* Adds a line, cut to the width; lines beyond the last one are left out. Text is clean. */
void screen_line(struct screen *s, enum screen_style style, const char *text);
/* Shows the picture. */
void screen_end(struct screen *s);
/* Whether the terminal has another size than in the last picture. */
bool screen_is_resized(const struct screen *s);
/* The next key that was pressed; -1: none. */
int screen_key(struct screen *s);
