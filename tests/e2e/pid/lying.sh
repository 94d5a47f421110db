# Programs whose symbols are truncated, larger than memory or lie: a message or fewer probes, soon; never a crash.
# @@foreign
exec python3 - <<'END'
import os, random, struct, subprocess, sys, time

DTRACE, TRIGGER, TMP = (os.environ[n] for n in ("DTRACE", "TRIGGER", "TMP"))
EXE = f"{TMP}/lie"
ODD = [0, 1, 8, 24, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 1]
SHT_SYMTAB, SHT_DYNSYM = 2, 11
SH_OFFSET, SH_SIZE, ST_SIZE = 24, 32, 16
SHOFF, SHNUM, SHSTRNDX = 0x28, 0x3C, 0x3E
bad = []
seed = int(os.environ.get("SEED", time.time()))
random.seed(seed)
with open(f"{TRIGGER}/funcs", "rb") as f:
    good = f.read()
shoff, = struct.unpack_from("<Q", good, SHOFF)
shnum, = struct.unpack_from("<H", good, SHNUM)
headers = [shoff + i * 64 for i in range(shnum)]
tables = [h for h in headers if struct.unpack_from("<I", good, h + 4)[0] in (SHT_SYMTAB, SHT_DYNSYM)]


def entries(table):
    off, size = struct.unpack_from("<QQ", good, table + SH_OFFSET)
    return range(off, off + size, 24)


def put(image, off, value, size=8):
    image[off:off + size] = (value & ((1 << 64) - 1)).to_bytes(8, "little")[:size]


def check(what, image, wanted, sparse_size=0):
    """wanted: texts of which one is said, None: any outcome but a crash."""
    if os.path.exists(EXE):
        os.unlink(EXE)
    with open(EXE, "wb") as f:
        f.write(image)
        if sparse_size:
            f.truncate(sparse_size)
    os.chmod(EXE, 0o755)
    try:
        p = subprocess.run([DTRACE, "-en", "pid$target:lie::entry", "-c", EXE], capture_output=True, text=True, timeout=100)
    except subprocess.TimeoutExpired:
        bad.append(f"{what}: takes more than 100 s")
        return
    # before dtrace says something, the program's own dynamic linker may
    said = (p.returncode == 0 or "\ndtrace: " in "\n" + p.stderr) and "Sanitizer" not in p.stderr
    if p.returncode not in (0, 1) or (wanted and wanted not in p.stderr) or not said:
        bad.append(f"{what}: status {p.returncode}, {p.stderr}")


def changed(*edits):
    image = bytearray(good)
    for off, value in edits:
        put(image, off, value)
    return image


check("as it is", good, "")
check("cut off", good[:shoff + 100], "'lie' has no symbols that can be read")
check("headers elsewhere", changed((SHOFF, 1 << 40)), "'lie' has no symbols that can be read")
check("tables of 64 GiB that are not there", changed(*((t + SH_SIZE, 1 << 36) for t in tables)), "a symbol table of it takes more than 67108864 bytes")
sparse = changed(*((t + SH_OFFSET, 1 << 30) for t in tables), *((t + SH_SIZE, (1 << 36) // 24 * 24) for t in tables))
check("tables of 64 GiB that are there", sparse, "a symbol table of it takes more than 67108864 bytes", (1 << 30) + (1 << 36))
check("functions of all memory", changed(*((e + ST_SIZE, 1 << 62) for t in tables for e in entries(t))), "")
for i in range(60):
    image = bytearray(good)
    for _ in range(random.randint(1, 4)):
        where = random.choice(["header", "symbol", "file"])
        if where == "header":
            off = random.choice(headers) + random.choice([0, 4, 8, 16, 24, 32, 40, 44, 48, 56])
        elif where == "symbol":
            off = random.choice(entries(random.choice(tables))) + random.choice([0, 4, 6, 8, 16])
        else:
            off = random.choice([SHOFF, SHNUM, SHSTRNDX])
        put(image, off, random.choice(ODD + [random.getrandbits(64)]), 2 if where == "file" and off != SHOFF else random.choice([2, 4, 8]))
    check(f"random {i}", image, None)
if bad:
    print(f"seed {seed}", *bad[:5], sep="\n")
sys.exit(bool(bad))
END
