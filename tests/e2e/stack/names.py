# SPDX-License-Identifier: MIT
"""Random programs in Python and Ruby note their own stack before each system call, with its number. jstack() has the same frames.

    names.sh        2,000 stacks of each in the suite; NAMES=100000 NAMES_SEED=7 ... says how many, and of which random numbers

Functions are made of texts with names and files that begin alike, call each other in many ways (callbacks of C code, generators, blocks, exceptions), and are
replaced while the program runs, so that memory of names, code and frames has something else at the same address. A stack with a mark, which says that frames
are missing, is counted, and has no wrong name if its frames are the innermost ones of the program's.
"""
import os, re, subprocess, sys

DTRACE, TMP = os.environ["DTRACE"], os.environ["TMP"]
STACKS = int(os.environ.get("NAMES", "2000"))
SEED = os.environ.get("NAMES_SEED", "1")
BASE = 1000000  # descriptors that nobody has: close() of base + number fails
MARK = re.compile(r"^\s*\[(no language frames yet|language frames cut|helper error|no unwind table yet|cut)")
FRAME = re.compile(r"^\s*\[ (.*) \]$")
LEAST = 0.99  # share of the stacks behind the first one with frames that are whole and recorded

PYTHON = r"""
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
"""

RUBY = r"""
N, SEED, BASE = ARGV.map(&:to_i)
RNG = Random.new(SEED)
OWN = File.open("own", "w")
$count = 0

SYSCALL = RUBY_VERSION >= "3.4" ? "Kernel#syscall" : "syscall" # the innermost frame is that of this method, at its caller's line

def text(frames)
  "#{frames[0].path}:#{frames[0].lineno} (#{SYSCALL})|" + frames.map { |l| "#{l.path}:#{l.lineno} (#{l.label})" }.join("|")
end

def mark
  $count += 1
  begin
    OWN.write("#{BASE + $count} #{text(caller_locations(0))}\n"); syscall(3, BASE + $count)
  rescue SystemCallError
  end
  $count
end

class Value
  attr_reader :depth
  def initialize(d) = @depth = d
  def <=>(other)
    call(@depth)
    0
  end
  def each
    call(@depth)
    yield 1
  end
  include Enumerable
  def method_missing(name, *rest) = call(@depth)
  def respond_to_missing?(*) = false
  def to_s = call(@depth).to_s
  define_method(:defined) { call(@depth) }
  def self.of_class(d) = call(d)
end

WAYS = [
  "call(d)", "[Value.new(d), Value.new(d)].sort", "[d].map { |x| call(x) }", "[d].each { call(d) }", "1.times { call(d) }", "lambda { call(d) }.call",
  "proc { call(d) }.()", "[3, 1].sort_by { |x| call(d) }", "Value.new(d).map { |x| call(d) }", "Value.new(d).missing", "Value.new(d).defined", "Value.of_class(d)",
  '"#{Value.new(d)}"', "send(:call, d)", "[d].inject(1) { |a, b| call(d) }", "instance_eval { call(d) }", "eval('call(d)')", "catch(:done) { call(d); throw :done }",
  "Hash.new { |h, k| h[k] = call(d) }[1]", "{ a: 1 }.each { |k, v| call(d) }", "(1..1).each_with_index { |x, i| call(d) }", "method(:call).call(d)",
  "method(:call).to_proc.(d)", "[d].each_slice(1) { |x| call(d) }", "tap { call(d) }",
]
STATEMENTS = [
  "begin\n raise ArgumentError, call(d).to_s\n rescue ArgumentError\n call(d)\n end", "begin\n call(d)\n ensure\n call(d)\n end", "2.times do |i|\n call(d - i)\n end",
  "while true\n call(d)\n break\n end", "[1].each do\n [2].each do\n call(d)\n end\n end",
]
$functions = []

def function_make(n)
  name = "function_with_a_long_name_#{%w[a b][n % 2] * RNG.rand(1..60)}_#{n}"
  name = "f\u00fcnction_\u0436_#{n}" if RNG.rand < 0.1
  file = "/srv/application/modules/#{%w[x y][n % 2] * RNG.rand(1..40)}/module_#{n % 97}.rb"
  body = RNG.rand < 0.4 ? STATEMENTS.sample(random: RNG) : WAYS.sample(random: RNG)
  eval("\n" * RNG.rand(500) + "def #{name}(d)\n#{"\n" * RNG.rand(200)} #{body}\n 1\nend\n", TOPLEVEL_BINDING, file, 1)
  name.to_sym
end

def call(d)
  return mark if d <= 0 || $count >= N || RNG.rand < 0.15
  send($functions.sample(random: RNG), d - 1)
end

60.times { |n| $functions << function_make(n) }
n = 60
mark
6000.times do
  break if File.exist?("met")
  sleep 0.02
end
while $count < N
  call(RNG.rand(1..13))
  RNG.rand(3).times do
    i = RNG.rand($functions.size)
    Object.send(:remove_method, $functions[i])
    $functions[i] = function_make(n)
    n += 1
  end
end
mark
"""

PROGRAMS = {"python": (["/usr/bin/python3"], "names_program.py", PYTHON), "ruby": (["ruby", "-W0", "-Ku"], "names_program.rb", RUBY)}


def compare(name):
    """Reads both traces side by side; returns how many stacks are equal, marked, missing, and the texts of wrong ones."""
    counts, wrong, has_begun = {"equal": 0, "marked": 0, "early": 0, "missing": 0}, [], False
    own = open("own", encoding="utf-8", errors="surrogateescape")

    def end(number, frames, is_marked):
        nonlocal has_begun
        for line in own:
            its, text = line.rstrip("\n").split(" ", 1)
            if int(its) == number:
                break
            counts["missing"] += 1
        else:
            wrong.append(f"{name}: stack {number} is not one of the program's")
            return
        theirs = text.split("|")
        if frames == theirs and not is_marked:
            counts["equal"] += 1
            has_begun = True
        elif not frames and not has_begun:
            counts["early"] += 1
        elif is_marked and frames == theirs[:len(frames)]:
            counts["marked"] += 1
        else:
            at = next((i for i, (a, b) in enumerate(zip(frames, theirs)) if a != b), min(len(frames), len(theirs)))
            wrong.append(f"{name}: stack {number - BASE}, frame {at} of {len(theirs)}{' (marked)' if is_marked else ''}:\n"
                         f"  jstack():    {frames[at:at + 3]}\n  the program: {theirs[at:at + 3]}")

    number, frames, is_marked = 0, [], False
    with open("out", encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            if line.startswith("STACK "):
                if number:
                    end(number, frames, is_marked)
                number, frames, is_marked = int(line[6:]), [], False
            elif MARK.match(line):
                is_marked = True
            elif m := FRAME.match(line):
                frames.append(m[1])
    if number:
        end(number, frames, is_marked)
    counts["missing"] += sum(1 for _ in own)
    return counts, wrong


bad = 0
for name, (command, file, text) in PROGRAMS.items():
    os.makedirs(f"{TMP}/{name}", exist_ok=True)
    os.chdir(f"{TMP}/{name}")
    with open(file, "w", encoding="utf-8") as f:
        f.write(text)
    if subprocess.run(["sh", "-c", f"command -v {command[0]}"], stdout=subprocess.DEVNULL).returncode:
        print(f"# {name} is not here")
        continue
    # a stack is recorded when the helper is attached: then the program may go on
    script = (f"syscall::close:entry /pid == $target && arg0 >= {BASE}/ {{ printf(\"STACK %d\", (int)arg0); jstack(600); }}"
              "tick-1s /!met/ { met = 1; system(\"touch met\"); }")
    with open("out", "w") as out, open("err", "w") as err:
        status = subprocess.run([DTRACE, "-wq", "-x", "bufsize=64m", "-x", "switchrate=50hz", "-x", "jstackstrsize=512", "-x", "strsize=512", "-n", script, "-c",
                                 " ".join([*command, file, str(STACKS), SEED, str(BASE)])], stdout=out, stderr=err).returncode
    counts, wrong = compare(name)
    print(f"# {name}: {sum(counts.values())} stacks, {counts['equal']} equal, {len(wrong)} wrong, {counts['marked']} marked, "
          f"{counts['early']} before the helper was attached, {counts['missing']} not recorded")
    print("\n".join(wrong[:5]))
    if status or wrong or counts["equal"] < LEAST * (STACKS - counts["early"]):
        with open("err") as f:
            print(f"{name}: status {status}, {f.read()[:2000]}")
        bad = 1
sys.exit(bad)
