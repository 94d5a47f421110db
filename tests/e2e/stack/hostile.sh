# @@exclusive: other sessions would tell of these files, too
# A program of somebody else whose sparse file claims 6 GiB of unwind information, of symbol names, of segments: the
# tracer stays small, says what it left out, and ends at its own exit().
# @@foreign
exec python3 - <<'END'
import os, resource, struct, subprocess, sys

DTRACE, TRIGGER, TMP = (os.environ[n] for n in ("DTRACE", "TRIGGER", "TMP"))
SANITIZED = bool(os.environ.get("SANITIZED"))
SHOFF, SHNUM, SHSTRNDX, PHNUM, SH_OFFSET, SH_SIZE, SH_INFO = 0x28, 0x3C, 0x3E, 0x38, 24, 32, 44
HUGE = 6 << 30
SCRIPT = """profile-197 /pid == $target/ { @[ustack()] = count(); }
profile-197 /pid == $target/ { printf("%s", usym(arg1)); } tick-1s { exit(0); }"""
with open(f"{TRIGGER}/deep", "rb") as f:
    good = f.read()
shoff, = struct.unpack_from("<Q", good, SHOFF)
shnum, = struct.unpack_from("<H", good, SHNUM)
names_at, = struct.unpack_from("<Q", good, shoff + struct.unpack_from("<H", good, SHSTRNDX)[0] * 64 + SH_OFFSET)
bad = []


def header(name):
    for i in range(shnum):
        at = names_at + struct.unpack_from("<I", good, shoff + i * 64)[0]
        if good[at:good.index(b"\0", at)].decode() == name:
            return shoff + i * 64
    return None


def run(what, edit, wanted):
    image = bytearray(good)
    edit(image)
    exe = f"{TMP}/{what}"
    with open(exe, "wb") as f:
        f.write(image)
        f.truncate(len(image) + HUGE)
    os.chmod(exe, 0o755)
    with open(f"{TMP}/out", "w+") as out:
        p = subprocess.Popen([DTRACE, "-qn", SCRIPT, "-c", f"{exe} spin 1000000000"], stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if p.returncode != 0 or wanted not in text or "Sanitizer" in text:
        bad.append(f"{what}: status {p.returncode}\n{text[-3000:]}")
    if not SANITIZED and usage.ru_maxrss > 200 * 1024:
        bad.append(f"{what}: {usage.ru_maxrss} KiB")
    if os.environ.get("SHOW"):
        print(what, usage.ru_maxrss, usage.ru_utime + usage.ru_stime, text[-200:])
    if usage.ru_utime + usage.ru_stime > (60 if SANITIZED else 6):
        bad.append(f"{what}: {usage.ru_utime + usage.ru_stime} s")


def claim(*sections):
    def edit(image):
        for name in sections:
            h = header(name)
            struct.pack_into("<QQ", image, h + SH_OFFSET, len(image), HUGE)
    return edit


def many_headers(image):  # in the first section header stands how many sections and segments there are
    struct.pack_into("<Q", image, shoff + SH_SIZE, HUGE // 64)
    struct.pack_into("<H", image, SHNUM, 0)


run("unwind", claim(".eh_frame"), "unwind information beyond what elfsize allows (65536k)")
run("names", claim(".strtab", ".dynstr"), "")
run("both", claim(".eh_frame", ".strtab", ".symtab"), "elfsize")
run("section_names", claim(".shstrtab"), "")
run("sections", many_headers, "")


def others(script, *argv):
    """What a session says while somebody else runs such a program."""
    image = bytearray(good)
    claim(".eh_frame")(image)
    exe = f"{TMP}/other"
    with open(exe, "wb") as f:
        f.write(image)
        f.truncate(len(image) + HUGE)
    os.chmod(exe, 0o755)
    with subprocess.Popen([exe, "spin", "1000000000"]) as p:
        d = subprocess.run([DTRACE, "-qn", script, *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        p.kill()
    if d.returncode != 0 or "Sanitizer" in d.stdout:
        bad.append(f"{script}: status {d.returncode}\n{d.stdout[-3000:]}")
    return d.stdout


MINE = 'profile-197 /pid == $target/ { @[ustack()] = count(); } tick-2s { exit(0); }'
if "elfsize" in others(MINE, "-c", f"{TRIGGER}/deep spin 1000000000"):
    bad.append("a file is reported that no walk has met")
text = others('profile-197 /execname == "other"/ { @[ustack()] = count(); } tick-2s { exit(0); }')
if text.count("elfsize") != 1:
    bad.append(f"a file that walks have met is reported {text.count('elfsize')} times\n{text[-2000:]}")
print("\n".join(bad))
sys.exit(bool(bad))
END
