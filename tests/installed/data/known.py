# SPDX-License-Identifier: MIT
import os, time


def known_here():
    os.getppid()


def known_outer():
    known_here()


known_outer()
while not os.path.exists("seen"):
    time.sleep(0.005)
    known_outer()
