# SPDX-License-Identifier: MIT
# ns of an empty function call, of fire() and of is_enabled() while nobody traces the probe: for bench/made.py.
import sys
import time

import usdt

provider = usdt.Provider("bench")
probe = usdt.Probe("f", "n", "char *", "int")
provider.add_probe(probe)
provider.enable()


class Empty:
    def fire(self, text, number):
        pass


def calls_fire(p, turns):
    for _ in turns:
        p.fire("tea", 4)


def calls_is_enabled(p, turns):
    for _ in turns:
        p.is_enabled()


def shortest(calls, p, n):
    best = []
    for _ in range(21):
        begin = time.perf_counter_ns()
        calls(p, range(n))
        best.append((time.perf_counter_ns() - begin) / n)
    return min(best)


count = int(sys.argv[1]) // 21
print(shortest(calls_fire, Empty(), count), shortest(calls_fire, probe, count), shortest(calls_is_enabled, probe, count))
