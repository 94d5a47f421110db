# SPDX-License-Identifier: MIT
"""A consumer: counts its own system calls, and shows its own stack."""
import os

import libdtrace


def known_here():
    os.getppid()


frames, found = [], False
with libdtrace.Consumer() as dtp:
    dtp.setopt("switchrate", "20hz")
    dtp.strcompile("syscall::getppid:entry /pid == $1/ { @calls = count(); }", os.getpid())
    dtp.go()
    for i in range(100):
        known_here()
    dtp.stop(None)
    for row in dtp.rows():
        print(row.name, row.value)

with libdtrace.Consumer() as dtp:
    dtp.setopt("switchrate", "20hz")
    dtp.strcompile("syscall::getppid:entry /pid == $1/ { jstack(); }", os.getpid())
    dtp.go()
    while not frames:  # until its helper is known
        known_here()
        dtp.consume(lambda probe, record: frames.extend(f for f in record.data if "known_here" in str(f)) if record else None)
print("frame", frames[0])
