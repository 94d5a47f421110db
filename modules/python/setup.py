# SPDX-License-Identifier: MIT
"""Builds the extension with libusdt in it: from the tree, or from the copy that a source distribution has."""
import glob
import os
import shutil

from setuptools import Extension, setup

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.join(HERE, "..", "..", "lib", "usdt")
os.chdir(HERE)
if os.path.isdir(TREE):
    os.makedirs("libusdt", exist_ok=True)
    for path in glob.glob(os.path.join(TREE, "*.[ch]")):
        shutil.copy(path, "libusdt")
setup(
    packages=[],
    ext_modules=[
        Extension(
            "usdt",
            ["usdtmodule.c"] + sorted(glob.glob("libusdt/*.c")),
            include_dirs=["libusdt"],
            define_macros=[("_GNU_SOURCE", "1")],
            extra_compile_args=["-std=gnu17", "-fvisibility=hidden"],
            extra_link_args=["-pthread", "-Wl,-z,nodelete", "-Wl,-Bsymbolic"],
        )
    ]
)
