/*
 * Layers of declarations: what a program declares hides what the D library declares, and what the
 * files of -L folders declare hides the system's. Inside a library only its own layer and those
 * below are seen, whatever a program calls its things.
 */
#pragma once

/* A name is looked for from the layer of the text it stands in downwards. */
enum d_layer { LAYER_PROGRAM, LAYER_LIBDIR, LAYER_SYSTEM, NLAYERS };
