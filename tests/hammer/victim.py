# SPDX-License-Identifier: MIT
"""Asserts what it computes, from several threads and in children, until SIGTERM (tests/hammer/run)."""
import collections, decimal, json, os, random, re, signal, sys, threading, zlib

stopped = False
rounds = 0


def stop(number, frame):
    global stopped
    stopped = True


def recurse(n):
    return recurse(n + 1) if n < 100000 else n


def round_run(rng):
    data = {"k%d" % i: [rng.randrange(1000), {"x": rng.random(), "s": "t\u00fc" * 5}] for i in range(30)}
    assert json.loads(json.dumps(data)) == data
    text = " ".join("w%d" % rng.randrange(500) for i in range(200))
    assert len(re.findall(r"\bw\d+\b", text)) == 200
    assert zlib.decompress(zlib.compress(text.encode())) == text.encode()
    assert sorted(text.split()) == sorted(reversed(text.split()))
    assert sum(collections.Counter(text).values()) == len(text)
    assert decimal.Context(prec=50).power(2, 100) == 2 ** 100 and pow(7, 10 ** 6, 1009) == pow(7, 10 ** 6 % 1008, 1009)
    try:
        try:
            {}["missing"]
        finally:
            caught = 1
    except KeyError as e:
        assert e.args == ("missing",) and caught == 1
    try:
        recurse(0)
        assert False
    except RecursionError:
        pass
    assert list(x * 2 for x in range(50) if x % 3) == [x * 2 for x in range(50) if x % 3]


def work(seed):
    global rounds
    rng = random.Random(seed)
    while not stopped:
        round_run(rng)
        rounds += 1


def child_check():
    pid = os.fork()
    if not pid:
        round_run(random.Random(5))
        os._exit(11)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 11


signal.signal(signal.SIGTERM, stop)
failed = []
threading.excepthook = lambda a: (failed.append(a.exc_value), sys.excepthook(a.exc_type, a.exc_value, a.exc_traceback))
threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for t in threads:
    t.start()
print("ready", flush=True)
while not stopped:
    child_check()
for t in threads:
    t.join()
assert not failed
print("ok: %d rounds" % rounds)
