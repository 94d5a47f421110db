/* SPDX-License-Identifier: MIT */
/*
 * Heat maps: how many values fell into which range in which interval.
 *
 *     page --> tracks, one for each aggregation: its intervals and ranges
 *          --> series, one for each key of a track: cells (interval, range, number)
 *
 * Limits   when there are more than HEAT_CELLS cells, each two neighbouring intervals become one;
 *          the page tells it. Beyond HEAT_SERIES series, further keys are left out and counted.
 */
#pragma once

#include "picture/page.h"

#define HEAT_CELLS  300000u
#define HEAT_SERIES 500u

struct heat_page;
struct heat_page *heat_create(bool as_html);
void heat_destroy(struct heat_page *h); /* NULL is allowed */
struct page_notes *heat_notes(struct heat_page *h);

/* A bound of a range; has = false: there is none. */
struct heat_bounds {
	bool has_low, has_high;
	int64_t low, high;
};
/* The track with this number, which the caller chooses; made if it is new. */
void heat_track(struct heat_page *h, uint32_t track, const char *what, const char *unit,
		const struct heat_bounds *bounds, uint32_t nbounds);
bool heat_has_track(const struct heat_page *h, uint32_t track);
/* Ends an interval of a track, and begins the next one; ns since 1970. Rows are added before. */
void heat_interval_end(struct heat_page *h, uint32_t track, uint64_t when);
/*
 * Adds the counts of a key, which are those since its last restart: what earlier intervals have is
 * taken off. A key that is not added in an interval restarts.
 */
void heat_add(struct heat_page *h, uint32_t track, const char *title, const int64_t *counts,
	      uint64_t normal);
/* The counts of all keys of a track begin at 0 again; of all but the kept ones. */
void heat_restart(struct heat_page *h, uint32_t track);
void heat_keep(struct heat_page *h, uint32_t track, const char *title);
void heat_restart_others(struct heat_page *h, uint32_t track);
/* Writes the page, of which a window's title says name. */
void heat_write(struct heat_page *h, const char *name, struct strbuf *out);
