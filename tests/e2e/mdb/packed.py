# SPDX-License-Identifier: MIT
"""A core file, compressed by each tool there is: mdb shows the same of it. Streams that are cut or damaged, and file systems without room."""
import json, os, random, shutil, struct, subprocess, sys
from cores import notes_first

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
SOURCE = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
const char *greeting = "good day";
int main(void)
{
	unsigned x = 1, *noise = malloc(8 << 20);
	char *zeros = mmap(0, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 2 << 20; i++)
		noise[i] = x = x * 1664525 + 1013904223;
	strcpy(zeros + (20 << 20), "behind zeros");
	greeting = zeros + (20 << 20);
	abort();
}
"""
PACKERS = {"zst": ["zstd", "-q"], "gz": ["gzip", "-1"], "xz": ["xz", "-0"], "lz4": ["lz4", "-q"]}
SHOWN = "::status; $C; ::regs; ::mappings; *greeting/s; ::args; ::threads"
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def run(*args, **env):
    r = subprocess.run([MDB, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env={**os.environ, **env})
    return r.returncode, r.stdout, r.stderr


os.chdir(TMP)
if not shutil.which("cc") or not shutil.which("gdb"):
    print("cc and gdb are not installed")
    sys.exit(67)
open("t.c", "w").write(SOURCE)
subprocess.run(["cc", "-g", "-O0", "-o", "t", "t.c"], check=True)
subprocess.run(["gdb", "-nx", "-batch", "-ex", "run", "-ex", "generate-core-file core", "./t"], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
if not os.path.exists("core"):
    print("gdb makes no core file here")
    sys.exit(67)
whole = notes_first(open("core", "rb").read())  # as the kernel writes it, so that a part of it is of use
open("core", "wb").write(whole)
want = run("-e", SHOWN, "core")
check(want[0] == 0 and "behind zeros" in want[1], "the core file itself", want)

packed = {}
for ending, command in PACKERS.items():
    if not shutil.which(command[0]):
        print(f"skip: {command[0]} is not installed")
        continue
    with open(f"core.{ending}", "wb") as to:
        subprocess.run([*command, "-c", "core"], stdout=to, check=True)
    packed[ending] = open(f"core.{ending}", "rb").read()
    check(run("-e", SHOWN, f"core.{ending}") == want, f"packed by {command[0]}", run("-e", "::status", f"core.{ending}"))
    shutil.copy(f"core.{ending}", "nameless")  # the contents count, not the name
    check(run("-e", SHOWN, "./t", "nameless") == want, f"without its ending: {command[0]}")
    open("garbage", "wb").write(packed[ending] + bytes(512))
    if ending != "xz":  # of which a sequence of streams has rules for what follows
        check(run("-e", SHOWN, "garbage") == want, f"with zeros behind: {command[0]}", run("-e", "::status", "garbage"))
    open("cut", "wb").write(packed[ending][: len(packed[ending]) // 2])
    status, out, err = run("-e", "::status; $C", "cut")
    check(status == 0 and "damaged: its stream of " in out and "ends early" in out and "are there: memory from 0x" in out, f"cut: {command[0]}", out + err)
    with open("text", "wb") as to:
        subprocess.run([*command, "-c", "t.c"], stdout=to, check=True)
    status, out, err = run("-e", "::status", "text")
    check(status == 1 and not out and "no core file is packed in it" in err, f"no core file: {command[0]}", out + err)
with open("core", "rb") as f, open("two", "wb") as to:  # a file of two streams, as parallel packers make it
    for part in (f.read(1 << 20), f.read()):
        to.write(subprocess.run(["gzip", "-1c"], input=part, capture_output=True, check=True).stdout)
check(run("-e", SHOWN, "two") == want, "two streams in a file", run("-e", "::status", "two"))

pstack = [subprocess.run([os.environ["BUILD"] + "/src/cmd/dtrace/dtrace", f"--pstack={c}"], capture_output=True, text=True).stdout for c in ("core", "core.gz")]
check("main" in pstack[0] and pstack[0].replace("core", "") == pstack[1].replace("core.gz", ""), "dtrace --pstack", pstack)

# Frames of 1 MB with a table at the end, as fathom-crash keeps cores: what nobody reads is not unpacked, and may be damaged.
FRAME = 1 << 20
parts = [whole[i:i + FRAME] for i in range(0, len(whole), FRAME)]
cache = {}
for part in parts:
    if part not in cache:
        cache[part] = subprocess.run(["zstd", "-qc"], input=part, capture_output=True, check=True).stdout
frames = [cache[part] for part in parts]


def seekable(frames, sizes=None, flags=0, mark=0x8F92EAB1):
    """The file of these frames; sizes: what the table says of them."""
    rows = b"".join(struct.pack("<II", *r) for r in sizes or [(len(f), len(p)) for f, p in zip(frames, parts)])
    return b"".join(frames) + struct.pack("<II", 0x184D2A5E, len(rows) + 9) + rows + struct.pack("<IBI", len(rows) // 8, flags, mark)


def show(data, *commands):
    open("seekable", "wb").write(data)
    return run("-e", SHOWN if not commands else "; ".join(commands), "seekable")


def address(offset):
    n, = struct.unpack_from("<H", whole, 56)
    for i in range(n):
        kind, _, off, va, _, fsz, *_ = struct.unpack_from("<IIQQQQQQ", whole, 64 + 56 * i)
        if kind == 1 and off <= offset < off + fsz:
            return va + offset - off


check(show(seekable(frames)) == want, "frames with a table", show(seekable(frames), "::status"))
sizes = [(len(f), len(p)) for f, p in zip(frames, parts)]
for what, data in (("another mark", seekable(frames, mark=1)), ("flags of the future", seekable(frames, flags=4)), ("a frame too few", seekable(frames, sizes[:-1])),
                   ("frames of terabytes", seekable(frames, [(s[0], 2**32 - 1) for s in sizes])), ("empty frames", seekable(frames, sizes + [(0, 0)]))):
    check(show(data) == want, f"a table that is wrong is not used: {what}", show(data, "::status"))
noisy = next(i for i, f in enumerate(frames) if len(f) > FRAME * 9 // 10)  # and so are some that follow
broken = frames[noisy][:1000] + bytes(1000) + frames[noisy][2000:]
data = seekable(frames[:noisy] + [broken] + frames[noisy + 1:])
check(show(data) == want, "a frame that is damaged, and not read", show(data, "::status"))
values = [f"{address(i * FRAME + 512 * 1024):x}" for i in (noisy, noisy + 1)]
right = struct.unpack_from("<I", whole, (noisy + 1) * FRAME + 512 * 1024)[0]
status, out, err = show(data, f"{values[1]}/X")
check(status == 0 and f"{right:x}" in out, "a frame behind the damaged one", out + err)
check(show(data, f"{values[0]}/X") != run("-e", f"{values[0]}/X", "core") and show(seekable(frames), f"{values[0]}/X") == run("-e", f"{values[0]}/X", "core"),
      "the damaged frame", show(data, f"{values[0]}/X"))
for seed in range(3):
    r = random.Random(seed)
    damaged = bytearray(seekable(frames))
    for _ in range(r.choice((1, 20))):
        damaged[-r.randrange(1, 8 * len(frames) + 17)] = r.randrange(256)
    status, out, err = show(bytes(damaged))
    check(status in (0, 1) and len(out) < 1 << 20 and "Sanitizer" not in err, f"damaged table, seed {seed}", f"{status}\n{err[-2000:]}")

# What is damaged is told or does no harm; nothing crashes.
for seed in range(12):
    r = random.Random(seed)
    ending = r.choice(sorted(packed))
    damaged = bytearray(packed[ending])
    for _ in range(r.choice((1, 20))):
        damaged[r.randrange(r.choice((64, len(damaged))))] = r.randrange(256)
    open("damaged", "wb").write(damaged)
    status, out, err = run("-e", SHOWN, "damaged")
    check(status in (0, 1) and len(out) < 1 << 20 and "Sanitizer" not in err, f"damaged: {ending}, seed {seed}", f"{status}\n{err[-2000:]}")
rows = json.loads(run("-o", "json", "-e", "::status", "cut")[1])["rows"]
check(any("damage" in r for r in rows) and any("missing-from" in r for r in rows), "JSON", rows)

# Holes: a file system of 80 MB, of which 64 stay free, has room for 8 MB of noise in 40 MB, and one of 68 MB has not.
os.mkdir("small")
check(run("-e", "::status", "core.gz", TMPDIR=TMP + "/nosuch")[2].count("TMPDIR=") == 1, "no folder for temporary files")
mounted = subprocess.run(["unshare", "-m", "sh", "-c", """mount -t tmpfs -o size=80m none small || exit 67
    TMPDIR=$PWD/small "$@" && TMPDIR=$PWD/small "$@" && find small -type f
    mount -o remount,size=68m small && TMPDIR=$PWD/small "$@"
    true""", "sh", MDB, "-e", "*greeting/s", "core.gz"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
if mounted.returncode == 67:
    print("skip: no file system can be mounted here")
else:
    check(mounted.stdout.count("behind zeros") == 2 and "/small" not in mounted.stdout, "zeros are holes, and no file stays", mounted)
    check(mounted.stderr.count("has no room for it: ") == 1 and "hint: TMPDIR=" in mounted.stderr, "no room", mounted)
sys.exit(1 if failed else 0)
