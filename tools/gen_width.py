#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/render/width.def: characters that take no column, or two, of a terminal.

    tools/gen_width.py >src/render/width.def

From Unicode's character database as Python has it: two columns are the East Asian widths W and F, none are
marks that combine (Mn, Me), format characters (Cf, but the soft hyphen shows) and the second and third
parts of Hangul syllables.
"""
import sys, unicodedata


def columns(c):
    ch = chr(c)
    if c == 0xAD:
        return 1
    if unicodedata.category(ch) in ("Mn", "Me", "Cf") or 0x1160 <= c <= 0x11FF:
        return 0
    if unicodedata.category(ch) == "Cn":  # not assigned: two in the planes that are kept for ideographs
        return 2 if 0x20000 <= c <= 0x2FFFD or 0x30000 <= c <= 0x3FFFD else 1
    return 2 if unicodedata.east_asian_width(ch) in "WF" else 1


first = None
print("/* SPDX-License-Identifier: MIT */")
print(f"/* Made by tools/gen_width.py from Unicode {unicodedata.unidata_version}: first and last character, columns. */")
for c in range(0x80, sys.maxunicode + 2):
    w = columns(c) if c <= sys.maxunicode else 1
    if first is not None and w != width:
        print(f"RANGE(0x{first:04x}, 0x{c - 1:04x}, {width})")
        first = None
    if first is None and w != 1:
        first, width = c, w
