# SPDX-License-Identifier: MIT
"""Builds the extension with libusdt in it for packages of distributions; pip uses wheel_backend.py."""
import os

os.chdir(os.path.dirname(os.path.abspath(__file__)))

import wheel_backend
from setuptools import Extension, setup

setup(
    packages=[],
    py_modules=[],
    ext_modules=[
        Extension(
            wheel_backend.extension(),
            wheel_backend.sources(),
            include_dirs=wheel_backend.INCLUDES,
            define_macros=wheel_backend.MACROS,
            extra_compile_args=wheel_backend.COMPILE,
            extra_link_args=wheel_backend.LINK,
        )
    ],
)
