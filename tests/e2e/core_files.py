# SPDX-License-Identifier: MIT
"""Core files that the kernel writes for a test. Where it writes them is one setting of the whole machine, and a test of crash capture
changes that for a while: a program that is to leave a core file dies within kernel_cores(), so that no such test has the pattern then."""
import contextlib, fcntl, resource

PATTERN, LOCK = "/proc/sys/kernel/core_pattern", "/run/fathom-test-core-pattern.lock"


@contextlib.contextmanager
def kernel_cores():
    with open(LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def pattern_read():
    """The pattern of the machine, not that of a test which has changed it; a test that has called kernel_cores() needs none of this."""
    with kernel_cores(), open(PATTERN) as f:
        return f.read().rstrip("\n")


def kernel_writes_cores():
    """Whether the kernel writes core files into the folder of a process."""
    pattern = pattern_read()
    return bool(pattern) and "/" not in pattern and not pattern.startswith("|")


def unlimited():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
