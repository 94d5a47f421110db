# Providers of the library over functions of the kernel: every lock that a thread takes and releases, waits for a transfer, lookups of paths.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
run() { timeout 300 "$DTRACE" -q "$@" >"$TMP/out" 2>"$TMP/err" || fail "$* failed"; }
has() { grep -qxF "$1" "$TMP/out" || fail "this line is missing: $1"; }
timeout 300 "$DTRACE" -ln fbt::mutex_lock:entry >"$TMP/out" 2>"$TMP/err" || { echo "this kernel has no kprobes"; exit 67; }
cat >"$TMP/work.py" <<'END'
import mmap, os, ctypes
libc = ctypes.CDLL(None, use_errno=True)
r, w = os.pipe()
m = mmap.mmap(-1, 8192)
addr = ctypes.addressof(ctypes.c_char.from_buffer(m))
for i in range(200):
    os.write(w, b"x" * 77)
    os.read(r, 77)
    libc.mprotect(ctypes.c_void_p(addr), 4095, 1 + 2 * (i & 1))
pid = os.fork()
if not pid: # the lock of all processes: a rwlock_t
    os.kill(os.getpid(), 0)
    for i in range(30): os.getpriority(os.PRIO_PGRP, 0)
    for i in range(20): os.setpgid(0, 0)
    os._exit(0)
os.waitpid(pid, 0)
for i in range(50): os.access("/no/such/path/77", 0)
END
cat >"$TMP/s.d" <<'END'
syscall::write:entry /pid == $target && arg2 == 77/ { self->w = 1; }
lockstat:::adaptive-acquire /self->w/ { @["acquire"] = count(); self->lock = arg0; self->at = timestamp; }
lockstat:::adaptive-acquire /self->w && (uint64_t)args[0]->owner.counter >> 3 << 3 == (uint64_t)curthread/ { @["owner"] = count(); }
lockstat:::adaptive-release /self->w && arg0 == self->lock && timestamp > self->at/ { @["release"] = count(); }
lockstat:::spin-acquire /self->w/ { @s[arg0] = sum(1); @["spins"] = count(); }
lockstat:::spin-release /self->w/ { @s[arg0] = sum(-1); @["spins released"] = count(); }
syscall::write:return /self->w/ { self->w = 0; }
syscall::mprotect:entry /pid == $target && arg1 == 4095/ { self->m = (uintptr_t)&curthread->mm->mmap_lock; }
lockstat:::rw-acquire /self->m && arg0 == self->m && args[1] == RW_WRITER/ { @["writer"] = count(); }
lockstat:::rw-release /self->m && arg0 == self->m && arg1 == RW_WRITER/ { @["writer done"] = count(); }
syscall::mprotect:return /self->m/ { self->m = 0; }
syscall::getpriority:entry, syscall::setpgid:entry /ppid == $target/ { self->p = (uintptr_t)&`tasklist_lock; }
lockstat:::rw-acquire /self->p && arg0 == self->p && args[2] == 1/ { @[args[1] == RW_READER ? "rwlock reader" : "rwlock writer"] = count(); self->in++; }
lockstat:::rw-release /self->p && arg0 == self->p && args[2] == 1 && self->in == 1/ { @[args[1] == RW_READER ? "rwlock reader done" : "rwlock writer done"] = count(); self->in--; }
syscall::getpriority:return, syscall::setpgid:return /self->p/ { self->p = 0; }
syscall::access:entry, syscall::faccessat:entry, syscall::faccessat2:entry /pid == $target/ { self->a = 1; }
sysinfo:::namei /self->a/ { @["namei"] = count(); }
syscall::access:return, syscall::faccessat:return, syscall::faccessat2:return { self->a = 0; }
END { printa("%s %@d\n", @); trunc(@s, 3); printa("left %p %@d\n", @s); }
END
run -s "$TMP/s.d" -c "/usr/bin/python3 $TMP/work.py"
has "acquire 200"; has "owner 200"; has "release 200"; has "writer 200"; has "writer done 200"
has "rwlock reader 30"; has "rwlock reader done 30"; has "rwlock writer 20"; has "rwlock writer done 20"
[ "$(sed -n 's/^namei //p' "$TMP/out")" -ge 50 ] || fail "namei"
# interrupts take locks, too; whoever takes one releases it
a=$(sed -n 's/^spins \([0-9]*\)$/\1/p' "$TMP/out") r=$(sed -n 's/^spins released //p' "$TMP/out")
[ "$a" -ge 200 ] && [ "$r" -ge $((a - a / 20)) ] && [ "$r" -le $((a + a / 20)) ] || fail "spin locks: $a taken, $r released"
# why there is none elsewhere
FATHOM_NO_FEATURE=KPROBE,KPROBE_MULTI timeout 300 "$DTRACE" -n lockstat:::adaptive-acquire >"$TMP/out" 2>"$TMP/err" && fail "it is there without kprobes"
grep -q 'functions of this kernel cannot be traced.*adaptive-block and adaptive-spin fire' "$TMP/err" || fail "the reason"
# a file system waits for its device to be flushed
truncate -s 16M "$TMP/image"
dev=$(losetup -f --show "$TMP/image" 2>/dev/null) && mkfs.ext4 -q "$dev" && mkdir "$TMP/mnt" && mount "$dev" "$TMP/mnt" || { losetup -d "$dev" 2>/dev/null; echo "no loop device: io:::wait-* not tried"; exit 0; }
trap 'umount "$TMP/mnt"; losetup -d "$dev"' EXIT
cat >"$TMP/sync.py" <<'END'
import os, sys
for i in range(5):
    fd = os.open(f"{sys.argv[1]}/f{i}", os.O_CREAT | os.O_WRONLY)
    os.write(fd, b"x" * 5000); os.fsync(fd); os.fdatasync(fd); os.close(fd)
END
run -n 'io:::wait-start /args[1]->dev_statname == $$1/ { @["start"] = count(); self->t = timestamp; }
	io:::wait-done /self->t && args[1]->dev_statname == $$1 && timestamp > self->t/ { @["done"] = count(); self->t = 0; }
	END { printa("%s %@d\n", @); }' -c "/usr/bin/python3 $TMP/sync.py $TMP/mnt" "$(basename "$dev")"
n=$(sed -n 's/^start //p' "$TMP/out")
[ "${n:-0}" -ge 5 ] || fail "waits"
has "done $n"
