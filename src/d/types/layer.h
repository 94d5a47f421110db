/* SPDX-License-Identifier: MIT */
/*
 * Layers of declarations: a program's names hide those of the D library.
 *
 * The names that a program declares hide those of the files in -L folders, and these hide those of
 * the system's library. The text of a library sees the names of its own layer and of the layers
 * below, so that no program can change what a library means.
 */
#pragma once

/* From top to bottom. A name is searched from the layer of the text that uses it downwards. */
enum d_layer { LAYER_PROGRAM, LAYER_LIBDIR, LAYER_SYSTEM, NLAYERS };
