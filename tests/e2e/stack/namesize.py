# SPDX-License-Identifier: MIT
"""A user builds, runs and deletes a large program again and again, while root profiles. The memory for names stays within the option
namesize, also after names that were freed were read again, and deleted files are not kept open without end. Each program has its
names, and what could not be kept is said."""
import os, re, struct, subprocess, sys, threading

PROGRAMS, SYMBOLS, NAMESIZE = 30, 40_000, 8 << 20  # a program has 3 MB of symbols
dtrace, tmp = os.environ["DTRACE"], os.environ["TMP"]


def program(tag):
    """A static program with SYMBOLS functions of 16 bytes. It calls getppid() 100 times, then reads a byte and ends."""
    base, off = 0x400000, 0x1000
    code = b"\x41\xbc" + struct.pack("<I", 100)                      # mov $100, %r12d
    code += b"\xb8\x6e\0\0\0\x0f\x05" + b"\x41\xff\xcc" + b"\x75\xf4"  # 1: getppid(); dec %r12d; jnz 1b
    code += b"\x48\x83\xec\x08\x48\x89\xe6\xba\1\0\0\0\x31\xff\x31\xc0\x0f\x05"  # read(0, stack, 1)
    code += b"\xb8\x3c\0\0\0\x31\xff\x0f\x05"                        # exit(0)
    text = code.ljust(16 * SYMBOLS, b"\xcc")
    names, syms = bytearray(b"\0"), bytearray(24)
    for i in range(SYMBOLS):
        # the first one contains the code; the table is as large as that of any program
        start, size = (0, len(code)) if i == 0 else (16 * i + len(code), 16)
        syms += struct.pack("<IBBHQQ", len(names), 0x12, 0, 1, base + off + start, size)
        names += b"function_of_%s_%06d\0" % (tag, i)
    sections = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    symoff = off + len(text)
    stroff = symoff + len(syms)
    secoff = stroff + len(names)
    shoff = (secoff + len(sections) + 7) & ~7
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, base + off, 64, shoff, 0, 64, 56, 1, 64, 5, 4)
    header += struct.pack("<IIQQQQQQ", 1, 5, off, base + off, base + off, len(text), len(text), 0x1000)
    table = bytes(64)
    for row in ((1, 1, 6, base + off, off, len(text), 0, 0, 16, 0), (7, 2, 0, 0, symoff, len(syms), 3, 1, 8, 24),
                (15, 3, 0, 0, stroff, len(names), 0, 0, 1, 0), (23, 3, 0, 0, secoff, len(sections), 0, 0, 1, 0)):
        table += struct.pack("<IIQQQQIIQQ", *row)
    image = header.ljust(off, b"\0") + text + bytes(syms) + bytes(names) + sections
    return image.ljust(shoff, b"\0") + table


if os.uname().machine != "x86_64":
    print("the program is made of instructions of x86-64")
    sys.exit(67)
image = program(b"tagged")
script = '''BEGIN { printf("ready\\n"); }
    syscall::getppid:entry /strstr(execname, "large") == execname/ { @[execname, ustack(3)] = count(); }
    tick-100ms { printa("%s%k%@d\\n", @); trunc(@); }'''
d = subprocess.Popen([dtrace, "-qn", script, "-x", f"namesize={NAMESIZE}", "-x", "debug"], stdout=subprocess.PIPE,
                     stderr=open(f"{tmp}/err", "w"), text=True)
assert d.stdout.readline() == "ready\n"
seen, named = {}, set()
news = threading.Condition()


def read():
    """Counts the calls of each program that were printed, and notes which of them have names."""
    name = tag = None
    for line in d.stdout:
        line = line.strip()
        if re.fullmatch(r"large\d+", line):
            name, tag = line, None
        elif name and line.isdigit():
            with news:
                seen[name] = seen.get(name, 0) + int(line)
                if tag == "t" + name[5:].zfill(5):
                    named.add(name)
                news.notify()
        elif name and "`function_of_" in line:
            tag = line.split("`function_of_")[1][:6]


threading.Thread(target=read, daemon=True).start()


def wait_for(name, calls):
    with news:
        if not news.wait_for(lambda: seen.get(name, 0) >= calls, timeout=120):
            sys.exit(f"{name} was seen {seen.get(name, 0)} times\n" + open(f"{tmp}/err").read()[-2000:])


def state():
    """KiB of memory; bytes of deleted files that are kept open."""
    kib = int(re.search(r"RssAnon:\s+(\d+)", open(f"/proc/{d.pid}/status").read()).group(1))
    held = 0
    for fd in os.listdir(f"/proc/{d.pid}/fd"):
        try:
            if os.readlink(f"/proc/{d.pid}/fd/{fd}").startswith(f"{tmp}/large"):
                held += os.stat(f"/proc/{d.pid}/fd/{fd}").st_blocks * 512
        except OSError:  # closed meanwhile
            pass
    return kib, held


def build(i, keep):
    path = f"{tmp}/large{i}"
    with open(path, "wb") as f:
        f.write(image.replace(b"tagged", b"t%05d" % i))
    os.chmod(path, 0o755)
    p = subprocess.Popen([path], stdin=subprocess.PIPE)
    wait_for(f"large{i}", 100)
    if not keep:
        os.unlink(path)
        p.communicate(b"x")
    return p


states = []
for i in range(PROGRAMS):
    build(i, False)
    states.append(state())
# More programs than there is memory for run at the same time, and are looked at again and again.
several = [build(PROGRAMS + i, True) for i in range(6)]
for p in several:
    p.communicate(b"x")
for i in range(2):
    for k in range(6):
        name = f"large{PROGRAMS + k}"
        subprocess.run([f"{tmp}/{name}"], stdin=subprocess.DEVNULL)
        wait_for(name, 100 * (i + 2))
states.append(state())
d.terminate()
d.wait()
errors = open(f"{tmp}/err").read()
kept = re.findall(r"(\d+) KiB of names \(those of (\d+) files were freed", errors)
print("KiB, bytes of deleted files:", states[::5], "names, freed:", kept[-1:])
assert len(named) >= PROGRAMS + 6, f"{sorted(set(seen) - named)} have no names"
assert kept and int(kept[-1][0]) <= NAMESIZE // 1024 and int(kept[-1][1]) > PROGRAMS / 2, kept[-1:]
# Deleted files are searched for once a second.
assert min(held for _, held in states[-5:]) < PROGRAMS // 2 * len(image), "deleted files are kept open"
if not os.environ.get("SANITIZED"):
    third = max(kib for kib, _ in states[5:PROGRAMS // 3])
    assert states[-1][0] < third + NAMESIZE // 1024, "memory grows"
