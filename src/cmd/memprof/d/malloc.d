/* SPDX-License-Identifier: MIT */
/*
 * memprof malloc: blocks that were asked for and not given back, by who has asked. Probes for each
 * library with an allocator stand above: what it is asked for is in self->bytes.
 */
