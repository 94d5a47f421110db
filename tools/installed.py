#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the lists of what is installed equal to the tree.

    installed.py names FOLDER [NAME...]                      prints the files of the folder but for those named, a line each
    installed.py check STAMP DEPFILE FOLDER NAMES...         compares folders with what the build folder knows of them

Meson reads lists when a build folder is configured. A file that comes later would silently not be installed; therefore the build checks,
whenever an entry of one of the folders comes or goes, that NAMES, separated by commas, are the files that are there. STAMP is written when
they are.
"""
import os
import sys


def files_of(folder):
    """Hidden files, and those that an editor leaves, belong to nobody."""
    names = (e.name for e in os.scandir(folder) if e.is_file())
    return sorted(n for n in names if not n.startswith((".", "#")) and not n.endswith(("~", ".orig", ".rej")))


def check(stamp, depfile, *pairs):
    wrong = []
    folders = pairs[0::2]
    for folder, names in zip(folders, pairs[1::2], strict=True):
        known, there = set(names.split(",")), set(files_of(folder))
        wrong += [f"{folder}/{name} is not in the list of what is installed" for name in sorted(there - known)]
        wrong += [f"{folder}/{name} is to be installed, and is not there" for name in sorted(known - there)]
    if wrong:
        sys.exit("\n".join(wrong) + "\nhint: 'meson setup --reconfigure BUILD_DIR' reads the folders again; where a meson.build has a list, add the file")
    with open(depfile, "w", encoding="utf-8") as f:
        f.write(f"{stamp}: {' '.join(folders)}\n")  # a folder is changed when an entry comes or goes
    with open(stamp, "w", encoding="utf-8"):
        pass


def main():
    match sys.argv[1:]:
        case ["names", folder, *but]:
            print("\n".join(n for n in files_of(folder) if n not in but))
        case ["check", stamp, depfile, *pairs]:
            check(stamp, depfile, *pairs)
        case _:
            sys.exit(__doc__)


main()
