# SPDX-License-Identifier: MIT
# Random functions of Python for names.py: program.py COUNT SEED BASE
import functools, os, random, sys, time
N, SEED, BASE = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(SEED)
own = open("own", "w")
count = 0

def text(f):
    frames = []
    while f:
        frames.append("%s:%d (%s)" % (f.f_code.co_filename, f.f_lineno, f.f_code.co_name))
        f = f.f_back
    return "|".join(frames)

def mark():
    global count
    count += 1
    try:
        own.write("%d %s\n" % (BASE + count, text(sys._getframe()))); os.close(BASE + count)
    except OSError:
        pass
    return count

class Context:
    def __enter__(self): call(self.depth)
    def __exit__(self, *_): call(self.depth)

class Value:
    def __init__(self, depth): self.depth = depth
    def __lt__(self, other): call(self.depth); return True
    def __getattr__(self, name): call(self.__dict__["depth"]); return 1
    def __iter__(self):
        call(self.depth)
        yield 1
    def method(self): call(self.depth)
    @property
    def attribute(self): call(self.depth); return 1
    @classmethod
    def of_class(cls, depth): call(depth)

WAYS = [
    "call(d)",
    "sorted([Value(d), Value(d)])",
    "list(map(call, [d]))",
    "[call(d) for _ in range(1)]",
    "sum(call(d) for _ in range(1))",
    "{call(d) for _ in range(1)}",
    "(lambda: call(d))()",
    "functools.partial(call, d)()",
    "functools.reduce(lambda a, b: call(d), [1, 2])",
    "max([1, 2], key=lambda _: call(d))",
    "list(Value(d))",
    "Value(d).method()",
    "Value(d).attribute",
    "Value(d).missing",
    "Value.of_class(d)",
    "[x for x in (call(d), 1)]",
    "eval('call(d)')",
    "exec('call(d)')",
]
STATEMENTS = [
    "with context(d): call(d)",
    "try:\n        raise ValueError(call(d))\n    except ValueError:\n        call(d)",
    "try:\n        call(d)\n    finally:\n        call(d)",
    "def inner():\n        yield call(d)\n        yield 2\n    list(inner())",
    "class Inner:\n        value = call(d)",
    "for i in range(2):\n        call(d - i)",
]

def context(d):
    c = Context()
    c.depth = d
    return c

functions = []

def function_make(n):
    name = "function_with_a_long_name_%s_%d" % ("ab"[n % 2] * rng.randrange(1, 60), n)
    if rng.random() < 0.1:
        name = "f\u00fcnction_\u0436_%d" % n
    file = "/srv/application/modules/%s/module_%d.py" % ("xy"[n % 2] * rng.randrange(1, 40), n % 97)
    body = rng.choice(STATEMENTS) if rng.random() < 0.4 else rng.choice(WAYS)
    source = "\n" * rng.randrange(500) + "def %s(d):\n%s    %s\n    return 1\n" % (name, "\n" * rng.randrange(200), body)
    scope = dict(globals())
    exec(compile(source, file, "exec"), scope)
    return scope[name]

def call(d):
    if d <= 0 or count >= N or rng.random() < 0.15:
        return mark()
    return rng.choice(functions)(d - 1)

for n in range(60):
    functions.append(function_make(n))
n = 60
mark()
for _ in range(6000):
    if os.path.exists("met"): break
    time.sleep(.02)
while count < N:
    call(rng.randrange(1, 14))
    for _ in range(rng.randrange(3)):
        functions[rng.randrange(len(functions))] = function_make(n)
        n += 1
mark()
