# SPDX-License-Identifier: MIT
import time


def known_busy():
    while time.process_time() < end:
        sum(range(2000))


def known_outer():
    known_busy()


end = time.process_time() + 1
known_outer()
