# SPDX-License-Identifier: MIT
"""Damages core files of a program in C++ and of Python, and asks memprof about them. SEED and ROUNDS are as in tests/e2e/mdb/damaged.py."""
import os, random, resource, shutil, struct, subprocess, sys, time

BUILD, TMP = os.environ["BUILD"], os.environ["TMP"]
MEMPROF, MDB, PATIENCE = BUILD + "/src/cmd/memprof/memprof", BUILD + "/src/cmd/mdb/mdb", int(os.environ.get("PATIENCE", "1"))
SEED = int(os.environ.get("SEED", str(time.time_ns() // 1000 % 10**9)))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
IS_SANITIZED = b"__asan_init" in open(MEMPROF, "rb").read()
SHOP = r"""
#include <map>
#include <string>
#include <unistd.h>
struct Item { virtual ~Item() {} Item *next = nullptr; std::string name = std::string(50, 'x'); };
std::map<int, Item *> items;
Item *list;
int main() { for (int i = 0; i < 2000; i++) { items[i] = new Item; Item *k = new Item; k->next = list; list = k; new Item; } write(1, "ready\n", 6); pause(); }
"""
CHAT = """
import time
class Session:
    def __init__(self, handlers): handlers.append(self.handle)
    def handle(self): pass
handlers = []
for i in range(2000): Session(handlers)
print("ready", flush=True)
time.sleep(1000)
"""


def limit():
    if not IS_SANITIZED:  # sanitizers reserve terabytes
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))


def core_take(name, *command):
    p = subprocess.Popen(command, stdout=subprocess.PIPE)
    p.stdout.readline()
    subprocess.run([MDB, "-S", str(p.pid), "-w", name, "-e", "::status"], stdin=subprocess.DEVNULL, capture_output=True)
    p.kill()
    p.wait()
    with open(name, "rb") as f:
        return f.read()


def damage(r, whole):
    """Changes words of memory that can be written to, as a program that runs wild does, or headers and notes of the file."""
    data = bytearray(whole)
    table, = struct.unpack_from("<Q", data, 32)
    n, = struct.unpack_from("<H", data, 56)
    segments = [struct.unpack_from("<IIQQQQQQ", data, table + 56 * i) for i in range(n)]
    memory = [(s[2], s[5]) for s in segments if s[0] == 1 and s[1] & 2 and s[5] >= 4096]
    how = r.randrange(4)
    for _ in range(r.choice((1, 10, 1000, 20000))):
        at, size = r.choice(memory)
        place = at + r.randrange(size // 8) * 8
        if how == 0:
            data[place] ^= 1 << r.randrange(8)
        elif how == 1:  # a word from elsewhere: an address in the wrong place
            other, other_size = r.choice(memory)
            other += r.randrange(other_size // 8) * 8
            data[place : place + 8] = data[other : other + 8]
        elif how == 2:
            struct.pack_into("<Q", data, place, r.choice((0, 1, 0xFFFFFFFFFFFFFFFF, 0x4141414141414141, 1 << 47, r.getrandbits(64))))
        elif place % 4096 == 0:
            data[place : place + 4096] = bytes(4096)
    if r.randrange(4) == 0:
        for _ in range(r.choice((1, 3, 10))):
            s = r.choice(segments)
            place = table + 56 * r.randrange(n) + r.randrange(56) if r.randrange(2) or not s[5] else s[2] + r.randrange(min(s[5], 4096))
            data[place] ^= 1 << r.randrange(8)
    return bytes(data[: r.randrange(len(data))]) if r.randrange(8) == 0 else bytes(data)


os.chdir(TMP)
cores = []
open("shop.cc", "w").write(SHOP)
if shutil.which("c++") and subprocess.run(["c++", "-O0", "-o", "shop", "shop.cc"]).returncode == 0:
    cores.append((core_take("core.shop", "./shop"), "Item"))
open("chat.py", "w").write(CHAT)
cores.append((core_take("core.chat", "/usr/bin/python3", "chat.py"), "Session"))
failed = 0
for k in range(ROUNDS):
    for number, (whole, what) in enumerate(cores):
        seed = f"{SEED}.{k}.{number}"
        open("core", "wb").write(damage(random.Random(seed), whole))
        for args in (["leaks", "core"], ["alive", "-m", "-n", "0", "core"], ["holds", "core", what]):
            try:
                p = subprocess.run([MEMPROF, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=120 * PATIENCE, preexec_fn=limit)
            except subprocess.TimeoutExpired:
                print(f"seed {seed}: {args} does not end")
                failed += 1
                continue
            if p.returncode not in (0, 1) or (p.returncode == 1 and b"memprof: " not in p.stderr):
                print(f"seed {seed}: {args}: status {p.returncode}\n{p.stderr[-3000:].decode(errors='replace')}")
                failed += 1
sys.exit(1 if failed else 0)
