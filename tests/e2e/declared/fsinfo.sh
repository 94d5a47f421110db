# Provider fsinfo: each probe fires as often as the program used its files, with the file and the bytes; pipes are none, nor are calls that fail.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
has() { grep -qxF "$1" "$TMP/out" || fail "this line is missing: $1"; }
cat >"$TMP/work.py" <<'END2'
import fcntl, mmap, os, sys
dir = sys.argv[1]; path = dir + "/fsinfo-data"
for k in range(3):
    f = os.open(path, os.O_RDWR | os.O_CREAT)
    for i in range(5): os.write(f, b"x" * 1000)
    os.lseek(f, 0, 0)
    for i in range(4): os.read(f, 700)
    os.pwrite(f, b"yy", 9); os.readv(f, [bytearray(3), bytearray(4)])
    os.fsync(f); os.fdatasync(f); os.fchmod(f, 0o600); os.ftruncate(f, 9000)
    try: os.posix_fallocate(f, 0, 9000)
    except OSError: pass
    fcntl.flock(f, fcntl.LOCK_SH); fcntl.lockf(f, fcntl.LOCK_EX); fcntl.fcntl(f, fcntl.F_SETFL, os.O_APPEND); fcntl.fcntl(f, fcntl.F_GETFL)
    os.fstat(f)
    try: os.read(-1, 5)
    except OSError: pass
    os.close(f)
r, w = os.pipe(); os.write(w, b"abc"); os.read(r, 3)
f = os.open(path, os.O_RDWR); m = mmap.mmap(f, 4096); n = mmap.mmap(-1, 4096)
f = os.open(dir, os.O_RDONLY); os.listdir(f)
END2
mkdir "$TMP/fsinfo-dir"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'fsinfo::: /pid == $target && args[0]->fi_name == "fsinfo-data"/ { @[probename] = count(); @bytes[probename] = sum(args[1]); }
	fsinfo::: /pid == $target && args[0]->fi_name == "fsinfo-data" && args[0]->fi_pathname == $$1/ { @["path"] = count(); }
	fsinfo:::readdir /pid == $target && args[0]->fi_name == "fsinfo-dir" && args[1] > 20/ { @["directories"] = count(); }
	fsinfo:::read, fsinfo:::write /pid == $target && args[1] == 3/ { @["pipes"] = count(); }
	END { printa("%s %@d\n", @); printa("bytes %s %@d\n", @bytes); }' -c "/usr/bin/python3 $TMP/work.py $TMP/fsinfo-dir" "$TMP/fsinfo-dir/fsinfo-data" >"$TMP/out" 2>"$TMP/err" || fail "failed"
has "read 15"; has "write 18"; has "bytes read 8421"; has "bytes write 15006"; has "seek 3"; has "fsync 6"; has "setattr 6"; has "frlock 6"; has "setfl 3"; has "open 4"; has "map 1"; has "directories 1"
# the mapping of a file has a descriptor of its own in Python
has "close 4"; has "getattr 4"
grep -q '^pipes' "$TMP/out" && fail "a pipe is no file"
[ "$(sed -n 's/^path //p' "$TMP/out")" -ge 70 ] || fail "the path"
for p in 'mkdir syscall::mkdir:entry' 'getpage vminfo:::as_fault'; do
	set -- $p
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n "fsinfo:::$1" 2>"$TMP/err" && fail "$1 is there"
	grep -q "fsinfo:::$1 cannot fire here: .*$2" "$TMP/err" || fail "what is used instead of $1"
done
# a list without probes says as much as a program does
for p in 'nfs sdt:nfs:::' 'smb2 Samba' 'icmp mib:::icmp' 'fpuinfo simulates' 'vfs fsinfo:::'; do
	set -- $p
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -l -P "$1" >"$TMP/out" 2>"$TMP/err"
	grep -q "^hint: provider '$1' is not available in this version; .*$2" "$TMP/err" || fail "no hint for $1"
done
exit 0
