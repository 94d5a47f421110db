# SPDX-License-Identifier: MIT
"""Damages core files of busy programs, and looks at all of them in mdb."""
import json, os, random, struct, subprocess, sys, time

sys.path.insert(0, os.path.dirname(__file__))
import busy_programs
from core_files import kernel_writes_cores

MDB, TMP, PATIENCE = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"], int(os.environ.get("PATIENCE", "1"))
SEED = int(os.environ.get("SEED", str(time.time_ns() // 1000 % 10**9)))
ROUNDS = int(os.environ.get("ROUNDS", "1"))
SECONDS, MEGABYTES, MEMORY = 60 * PATIENCE, 50, 3000
NATIVE = "::status; ::siginfo; ::threads; ::stack -a; ::regs; ::fpregs; ::mappings; ::objects; ::libs; ::args; ::env; ::auxv; ::locks; ::malloc; ::findleaks"
failed = []


class Core:
    """A core file in memory: where its notes and its memory without a file are."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        table, = struct.unpack_from("<Q", self.data, 32)
        n, = struct.unpack_from("<H", self.data, 56)
        self.table, self.nsegments = table, n
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.data, table + 56 * i) for i in range(n)]
        self.notes = next((s[2], s[5]) for s in self.segments if s[0] == 4)
        # segments that are writable and large enough for objects; the last ones are the stack and the kernel's
        self.heap = [(s[2], s[5], s[3]) for s in self.segments if s[0] == 1 and s[1] & 2 and s[5] >= 65536]


def notes_flip(r, core, data):
    at, size = core.notes
    for _ in range(r.choice((1, 3, 10, 100))):
        data[at + min(r.randrange(size), r.randrange(size))] ^= 1 << r.randrange(8)


def headers_change(r, core, data):
    for _ in range(r.choice((1, 2, 5))):
        if r.randrange(5) == 0:
            data[r.randrange(4, 64)] ^= 1 << r.randrange(8)
            continue
        at = core.table + 56 * r.randrange(core.nsegments) + r.choice((0, 8, 16, 32, 40, 48))
        word, = struct.unpack_from("<Q", data, at)
        struct.pack_into("<Q", data, at, r.choice((0, 1, word ^ 1 << r.randrange(64), 2**64 - 1, 2**63, word + 4096, word * 2 % 2**64, r.getrandbits(64))))


def place_choose(r, core):
    off, size, addr = r.choice(core.heap)
    k = 8 * r.randrange(size // 8)
    return off + k, addr + k


def bits_flip(r, core, data):
    for _ in range(r.choice((100, 10000, 100000))):
        at, _ = place_choose(r, core)
        data[at + r.randrange(8)] ^= 1 << r.randrange(8)


def words_change(r, core, data):
    """Words become other words of the heap, lead to themselves, to each other, or are any number."""
    for _ in range(r.choice((1000, 20000, 200000))):
        at, addr = place_choose(r, core)
        other, other_addr = place_choose(r, core)
        k = r.randrange(8)
        if k < 3:
            data[at:at + 8] = data[other:other + 8]
        else:
            word = (addr + (k & 1), other_addr + (k & 1), r.getrandbits(64), (r.getrandbits(31) << 32), 2**64 - 1 - r.randrange(64))[k - 3]
            struct.pack_into("<Q", data, at, word)


def pages_randomise(r, core, data):
    """Whole pages are random, or full of one word."""
    for _ in range(r.choice((10, 100, 1000))):
        at, addr = place_choose(r, core)
        at, n = at & ~4095, 4096
        if at + n <= len(data):
            data[at:at + n] = r.randbytes(n) if r.randrange(2) else struct.pack("<Q", addr | 1) * 512


def end_cut(r, core, data):
    del data[r.randrange(64, len(data)):]


DAMAGES = (notes_flip, headers_change, bits_flip, words_change, words_change, pages_randomise, end_cut)


def words_known(core):
    """Words of values in the whole file: of frames, and an object of each class."""
    r = subprocess.run([MDB, "-o", "json", "-e", "::lstack -v; ::lobjects", core], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    words = []
    for line in r.stdout.splitlines():
        for row in json.loads(line)["rows"]:
            words += [row[k][2:] for k in ("word", "function", "object") if k in row]
    return words


def commands(r, words):
    asked = r.sample(words, min(len(words), 8 if os.environ.get("SANITIZED") else 40))  # with sanitizers, mdb is ten times as slow
    text = NATIVE + "; ::lstack -v -a; ::lobjects; ::lobjects -c Worker | ::lprint -d 4; ::lobjects -p p0 | ::lprint -d 8 -n 40"
    for i, word in enumerate(asked):
        text += f"; {word}::" + ("lprint -d 4", "lraw", "ltype", "lclosure", "lstr -v", "lprint -d 20 -n 5", "lprint id name twice p1.2.deep", "lrefs")[i % 8]
    return text


os.chdir(TMP)
if not kernel_writes_cores():
    print("the kernel writes no core files here")
    sys.exit(67)
names = busy_programs.installed()
if not names:
    print("there is none of the interpreters")
    sys.exit(67)
looks, slowest = 0, (0, "")
for name in names:
    path = busy_programs.core_make(name, name)
    core, words = Core(path), words_known(path)
    if name in ("node", "python") and len(words) < 10:
        failed.append(f"{name}: there are no values")
    for i in range(ROUNDS * len(DAMAGES)):
        seed = f"{SEED}.{name}.{i}"
        r = random.Random(seed)
        damage = DAMAGES[i % len(DAMAGES)]
        data = bytearray(core.data)
        damage(r, core, data)
        with open("damaged", "wb") as f:
            f.write(data)
        look = busy_programs.Look(MDB, ["-e", commands(r, words), "damaged"], SECONDS, MEGABYTES, MEMORY)
        looks += 1
        slowest = max(slowest, (look.seconds, f"{seed} {damage.__name__} {look.memory} MB"))
        if look.wrong:
            failed.append(seed)
            print(f"SEED={SEED}: {seed}: {damage.__name__}: {look.wrong}\n{look.out[-500:]}\n{look.err[-6000:]}")
            if os.environ.get("KEEP"):
                os.replace("damaged", f"{os.environ['KEEP']}/{seed}")
    os.unlink(path)
print(f"{looks} damaged core files, the slowest: {slowest}")
sys.exit(1 if failed else 0)
