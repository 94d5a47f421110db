# Providers nfsv3 and nfsv4: each call of version 3 and each operation of version 4 starts once and is done once, with who asks, the file, what is asked for and what has become of it.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
: >out; : >err
lost() { modprobe nfsd >/dev/null 2>&1 && return 1; "$DTRACE" -n "$1" 2>err && fail "$1"; grep -q "hint: provider '$2' is not here: it is about the kernel's module 'nfsd', which is not loaded: modprobe nfsd" err || fail "why $2 is not there"; }
if lost 'nfsv3:::op-read-start { trace(args[2]->count); }' nfsv3; then
	lost 'nfsv4:::op-read-done { trace(args[2]->data_len); }' nfsv4
	"$DTRACE" -l -P nfsv4 >out 2>err
	grep -q "module 'nfsd', which is not loaded" err || fail "why nothing is listed"
	echo "the module nfsd cannot be had"; exit 67
fi
unshare -nm true 2>/dev/null && command -v ip >/dev/null || { echo "no network namespace, or no ip (package iproute2)"; exit 67; }
dir=$(mktemp -d /var/tmp/declared_nfs.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
cat >client.py <<'END'
import struct, sys
from nfs_server import *

step, folder = sys.argv[1:]
if step == "start":
    with open(folder + "/file", "wb") as f: f.write(b"x" * 10000)
    root = start(folder)
    with open("root", "wb") as f: f.write(root)
    grace_wait(Client(), root)
    sys.exit(0)
portmapper()
with open("root", "rb") as f: root = f.read()
c = Client()
if step == "few": # for the example: reads of version 3, the last one of a file that is not there
    a = good(c.call(3, 3, opaque(root) + opaque(b"file")))
    for i in range(3): good(c.call(3, 6, a[4:8 + struct.unpack_from(">I", a, 4)[0]] + struct.pack(">QI", 4000 * i, 3000)))
    c.call(3, 3, opaque(root) + opaque(b"none"))
    sys.exit(0)
u32 = lambda *n: struct.pack(f">{len(n)}I", *n)
u64 = lambda *n: struct.pack(f">{len(n)}Q", *n)
name = lambda text: opaque(text.encode())
v3 = lambda proc, args=b"": c.call(3, proc, args)
none = u32(0, 0, 0, 0, 0, 0) # attributes that are not set
top = opaque(root)

# version 3
v3(0) # NULL
a = good(v3(3, top + name("file"))) # LOOKUP
file = opaque(a[8:8 + struct.unpack_from(">I", a, 4)[0]])
good(v3(1, file)) # GETATTR
good(v3(2, file + u32(1, 0o600, 0, 0, 0, 0, 0, 0))) # SETATTR: mode, and no guard
good(v3(4, file + u32(31))) # ACCESS
for i in range(5): good(v3(6, file + u64(2500 * i) + u32(3000))) # READ: 3 * 3000, 2500, 0 bytes
for i in range(3): good(v3(7, file + u64(100 * i) + u32(777, 0) + opaque(b"y" * 777))) # WRITE
good(v3(21, file + u64(100) + u32(50))) # COMMIT
good(v3(8, top + name("made") + u32(1) + none)) # CREATE, guarded
good(v3(9, top + name("folder") + none)) # MKDIR
good(v3(10, top + name("soft") + none + name("to/nowhere"))) # SYMLINK
good(v3(11, top + name("pipe") + u32(7) + none)) # MKNOD
a = good(v3(3, top + name("soft")))
good(v3(5, opaque(a[8:8 + struct.unpack_from(">I", a, 4)[0]]))) # READLINK
good(v3(15, file + top + name("hard"))) # LINK
good(v3(14, top + name("made") + top + name("moved"))) # RENAME
good(v3(16, top + u64(0) + bytes(8) + u32(2000))) # READDIR
good(v3(17, top + u64(0) + bytes(8) + u32(500, 2100))) # READDIRPLUS
for proc in 18, 19, 20: good(v3(proc, top)) # FSSTAT, FSINFO, PATHCONF
good(v3(12, top + name("moved"))) # REMOVE
good(v3(13, top + name("folder"))) # RMDIR
assert v3(3, top + name("none"))[:4] == u32(2) # no such file
bad = bytearray(file); bad[12:] = b"\x55" * (len(bad) - 12) # a handle of the export that names no file
assert v3(6, bytes(bad) + u64(1) + u32(2))[:4] != u32(0)

# version 4
ops = lambda *o, minor=0: compound(c, *o, minor=minor)
PUTROOT, FILE = op(24), op(15, name("file"))
anyone, reads = bytes(16), b"\xff" * 16 # states that need no open
mode = u32(2, 0, 2) + opaque(u32(0o640)) # an attribute: the mode
c.call(4, 0) # NULL
for i in range(4): # PUTROOTFH, LOOKUP, READ, GETATTR
    good(ops(PUTROOT, FILE, op(25, reads + u64(3000 * i) + u32(2000)), op(9, u32(1, 8))))
for i in range(3): # WRITE, COMMIT
    good(ops(PUTROOT, FILE, op(38, anyone + u64(100 * i) + u32(0) + opaque(b"z" * 555)), op(5, u64(7) + u32(8))))
a = ops(PUTROOT, op(15, name("none")), op(9, u32(1, 8))) # the second operation fails, the third one is not tried
assert a[:4] == u32(2)
good(ops(PUTROOT, op(6, u32(2) + name("dir4") + mode), op(10))) # CREATE, GETFH
good(ops(PUTROOT, op(15, name("dir4")), op(16), op(3, u32(31)), op(26, u64(0) + bytes(8) + u32(512, 4096, 1, 8)))) # LOOKUPP, ACCESS, READDIR
good(ops(PUTROOT, FILE, op(32), PUTROOT, op(11, name("hard4")))) # SAVEFH, LINK
good(ops(PUTROOT, op(32), op(29, name("hard4") + name("soon")), op(28, name("soon")), op(28, name("dir4")))) # RENAME, REMOVE
good(ops(PUTROOT, op(15, name("soft")), op(27))) # READLINK
good(ops(PUTROOT, FILE, op(34, anyone + mode))) # SETATTR
good(ops(PUTROOT, op(33, name("file")))) # SECINFO
assert ops(PUTROOT, FILE, op(9, u32(1, 8)), minor=9)[:4] == u32(10021) # no such version: no operation is tried
end()
END
cat >nfs.d <<'END'
nfsv3:::op-*-start { @begun3[probename] = count(); self->began = timestamp; self->xid = args[1]->noi_xid; }
nfsv3:::op-null-start, nfsv3:::op-getattr-start, nfsv3:::op-read-done { @who[probeprov, args[0]->ci_local, args[0]->ci_remote, args[0]->ci_protocol] = count(); @xid[probeprov] = max(args[1]->noi_xid); @uid[args[1]->noi_cred->cr_uid.val] = count(); }
nfsv3:::op-null-done { @done3[probename, 0] = count(); }
nfsv3:::op-[!n]*-done { @done3[probename, args[2]->status] = count(); }
nfsv3:::op-*-done /!self->began || self->xid != args[1]->noi_xid || timestamp < self->began/ { @wrong[probeprov, probename] = count(); }
nfsv3:::op-null-*, nfsv3:::op-read-*, nfsv3:::op-readdir-start, nfsv3:::op-rename-done { @path[probename, args[1]->noi_curpath] = count(); }
nfsv3:::op-read-start { @sums["3 read asked"] = sum(args[2]->count); @sums["3 read at"] = sum(args[2]->offset); }
nfsv3:::op-read-done { @sums["3 read"] = sum(args[2]->res_u.ok.data.data_len); @sums["3 read count"] = sum(args[2]->res_u.ok.count); @sums["3 read eof"] = sum(args[2]->res_u.ok.eof); }
nfsv3:::op-write-start { @sums["3 write asked"] = sum(args[2]->data.data_len); @sums["3 write at"] = sum(args[2]->offset); @sums["3 write stable"] = sum(args[2]->stable); }
nfsv3:::op-write-done { @sums["3 written"] = sum(args[2]->res_u.ok.count); }
nfsv3:::op-commit-start { @sums["3 commit"] = sum(args[2]->offset * 1000 + args[2]->count); }
nfsv3:::op-access-start { @sums["3 access"] = sum(args[2]->access); }
nfsv3:::op-readdir-start { @sums["3 readdir"] = sum(args[2]->count); }
nfsv3:::op-readdirplus-start { @sums["3 readdirplus"] = sum(args[2]->maxcount); }
nfsv3:::op-lookup-start { @names["lookup", args[2]->what.name] = sum(1); }
nfsv3:::op-create-start { @names["create", args[2]->where.name] = sum(args[2]->how.mode); }
nfsv3:::op-mkdir-start { @names["mkdir", args[2]->where.name] = sum(1); }
nfsv3:::op-symlink-start { @names[args[2]->where.name, args[2]->symlink.symlink_data] = sum(1); }
nfsv3:::op-mknod-start { @names["mknod", args[2]->where.name] = sum(args[2]->what.type); }
nfsv3:::op-remove-start { @names["remove", args[2]->object.name] = sum(1); }
nfsv3:::op-rmdir-start { @names["rmdir", args[2]->object.name] = sum(1); }
nfsv3:::op-rename-start { @names[args[2]->from.name, args[2]->to.name] = sum(1); }
nfsv3:::op-link-start { @names["link", args[2]->link.name] = sum(1); }

nfsv4:::op-*-start { @begun4[probename] = count(); self->began = timestamp; self->name = probename; }
nfsv4:::op-*-done /!self->began || strlen(self->name) != strlen(probename) + 1/ { @wrong[probeprov, probename] = count(); }
nfsv4:::op-*-done { @done4[probename, args[2]->status] = count(); self->began = 0; }
nfsv4:::op-lookup-start, nfsv4:::op-lookup-done, nfsv4:::op-write-done { @path4[probename, args[1]->noi_curpath] = count(); }
nfsv4:::null-start, nfsv4:::null-done, nfsv4:::compound-start, nfsv4:::compound-done { @begun4[probename] = count(); @who[probeprov, args[0]->ci_local, args[0]->ci_remote, args[0]->ci_protocol] = count(); @xid[probeprov] = max(args[1]->noi_xid); }
nfsv4:::compound-start { @sums["4 operations"] = sum(args[2]->argarray_len); }
nfsv4:::compound-done { @sums["4 results"] = sum(args[2]->resarray_len); @sums["4 status"] = sum(args[2]->status); }
nfsv4:::op-read-start { @sums["4 read asked"] = sum(args[2]->count); @sums["4 read at"] = sum(args[2]->offset); }
nfsv4:::op-read-done { @sums["4 read"] = sum(args[2]->data_len); @sums["4 read eof"] = sum(args[2]->eof); }
nfsv4:::op-write-start { @sums["4 write asked"] = sum(args[2]->data_len); @sums["4 write at"] = sum(args[2]->offset); }
nfsv4:::op-write-done { @sums["4 written"] = sum(args[2]->count); }
nfsv4:::op-commit-start { @sums["4 commit"] = sum(args[2]->offset * 10 + args[2]->count); }
nfsv4:::op-access-start { @sums["4 access"] = sum(args[2]->access); }
nfsv4:::op-readdir-start { @sums["4 readdir"] = sum(args[2]->maxcount); }
nfsv4:::op-lookup-start { @names["lookup4", args[2]->objname] = sum(1); }
nfsv4:::op-create-start { @names["create4", args[2]->objname] = sum(args[2]->type); }
nfsv4:::op-link-start { @names["link4", args[2]->newname] = sum(1); }
nfsv4:::op-rename-start { @names[args[2]->oldname, args[2]->newname] = sum(1); }
nfsv4:::op-remove-start { @names["remove4", args[2]->target] = sum(1); }
nfsv4:::op-secinfo-start { @names["secinfo4", args[2]->name] = sum(1); }
END {
	printa("3 %s %@d\n", @begun3); printa("3 %s %d %@d\n", @done3); printa("4 %s %@d\n", @begun4); printa("4 %s %d %@d\n", @done4); printa("who %s %s %s %s %@d\n", @who);
	printa("xid %s %@d\n", @xid); printa("uid %d %@d\n", @uid); printa("%s: %@d\n", @sums); printa("name %s %s %@d\n", @names); printa("path3 %s %s %@d\n", @path); printa("path4 %s %s %@d\n", @path4); printa("wrong %s %s %@d\n", @wrong);
}
END
export PYTHONPATH="$SRC/tests/e2e/data" PYTHONDONTWRITEBYTECODE=1
cat >in.sh <<'END'
ip link set lo up && mount -t nfsd nfsd /proc/fs/nfsd || exit 1
timeout $((100 * ${PATIENCE:-1})) /usr/bin/python3 client.py start "$1" || exit 1
timeout $((100 * ${PATIENCE:-1})) "$DTRACE" -qs "$SRC/examples/nfsops.d" -c "/usr/bin/python3 client.py few $1" >example || exit 1
timeout $((100 * ${PATIENCE:-1})) "$DTRACE" -qs nfs.d -c "/usr/bin/python3 client.py run $1"
END
unshare -nm sh in.sh "$dir" >out 2>err || fail "the server, or the session"
sed -i "s|$dir|DIR|" out
grep -qE '^127\.0\.0\.1 +nfsv3  op-read-done +3 +0 +[0-9]+ +[0-9]+$' example && grep -qE '^127\.0\.0\.1 +nfsv3  op-lookup-done +2 +1 ' example && grep -qE "^127\.0\.0\.1 +read +$dir/file: 8000$" example || {
	cat example; fail "the example"; }
grep -q '^wrong' out && fail "a probe without its other half"
cat >want <<'END'
3 op-null-start 1
3 op-null-done 0 1
3 op-getattr-start 1
3 op-getattr-done 0 1
3 op-setattr-start 1
3 op-setattr-done 0 1
3 op-access-start 1
3 op-access-done 0 1
3 op-readlink-start 1
3 op-readlink-done 0 1
3 op-create-start 1
3 op-create-done 0 1
3 op-mkdir-start 1
3 op-mkdir-done 0 1
3 op-symlink-start 1
3 op-symlink-done 0 1
3 op-mknod-start 1
3 op-mknod-done 0 1
3 op-remove-start 1
3 op-remove-done 0 1
3 op-rmdir-start 1
3 op-rmdir-done 0 1
3 op-rename-start 1
3 op-rename-done 0 1
3 op-link-start 1
3 op-link-done 0 1
3 op-readdir-start 1
3 op-readdir-done 0 1
3 op-readdirplus-start 1
3 op-readdirplus-done 0 1
3 op-fsstat-start 1
3 op-fsstat-done 0 1
3 op-fsinfo-start 1
3 op-fsinfo-done 0 1
3 op-pathconf-start 1
3 op-pathconf-done 0 1
3 op-commit-start 1
3 op-commit-done 0 1
3 op-lookup-start 3
3 op-lookup-done 0 2
3 op-lookup-done 2 1
3 op-read-start 6
3 op-read-done 0 5
3 op-read-done 70 1
3 op-write-start 3
3 op-write-done 0 3
who nfsv3 127.0.0.1 127.0.0.1 ipv4 8
xid nfsv3 1031
uid 0 8
3 read asked: 15002
3 read at: 25001
3 read: 11500
3 read count: 11500
3 read eof: 2
3 write asked: 2331
3 write at: 300
3 write stable: 0
3 written: 2331
3 commit: 100050
3 access: 31
3 readdir: 2000
3 readdirplus: 2100
name create made 1
name link hard 1
name lookup file 1
name lookup none 1
name lookup soft 1
name made moved 1
name mkdir folder 1
name remove moved 1
name rmdir folder 1
name soft to/nowhere 1
name mknod pipe 7
path3 op-null-done <unknown> 1
path3 op-null-start <unknown> 1
path3 op-read-done <unknown> 1
path3 op-read-start <unknown> 1
path3 op-read-done DIR/file 5
path3 op-read-start DIR/file 5
path3 op-readdir-start DIR 1
path3 op-rename-done DIR 1
4 null-start 1
4 null-done 1
4 compound-start 15
4 compound-done 15
4 op-putrootfh-start 16
4 op-putrootfh-done 0 16
4 op-lookup-start 12
4 op-lookup-done 0 11
4 op-lookup-done 2 1
4 op-read-start 4
4 op-read-done 0 4
4 op-getattr-start 4
4 op-getattr-done 0 4
4 op-write-start 3
4 op-write-done 0 3
4 op-commit-start 3
4 op-commit-done 0 3
4 op-create-start 1
4 op-create-done 0 1
4 op-getfh-start 1
4 op-getfh-done 0 1
4 op-lookupp-start 1
4 op-lookupp-done 0 1
4 op-access-start 1
4 op-access-done 0 1
4 op-readdir-start 1
4 op-readdir-done 0 1
4 op-savefh-start 2
4 op-savefh-done 0 2
4 op-link-start 1
4 op-link-done 0 1
4 op-rename-start 1
4 op-rename-done 0 1
4 op-remove-start 2
4 op-remove-done 0 2
4 op-readlink-start 1
4 op-readlink-done 0 1
4 op-setattr-start 1
4 op-setattr-done 0 1
4 op-secinfo-start 1
4 op-secinfo-done 0 1
4 operations: 57
4 results: 56
4 status: 2
4 read asked: 8000
4 read at: 18000
4 read: 7000
4 read eof: 1
4 write asked: 1665
4 write at: 300
4 written: 1665
4 commit: 234
4 access: 31
4 readdir: 4096
name lookup4 file 9
name lookup4 none 1
name lookup4 dir4 1
name lookup4 soft 1
name create4 dir4 2
name link4 hard4 1
name hard4 soon 1
name remove4 soon 1
name remove4 dir4 1
name secinfo4 file 1
path4 op-lookup-start DIR 12
path4 op-lookup-done DIR/file 9
path4 op-lookup-done DIR/none 1
path4 op-lookup-done DIR/dir4 1
path4 op-lookup-done DIR/soft 1
path4 op-write-done DIR/file 3
END
grep -vE '^(who|xid) nfsv4|^$' out | LC_ALL=C sort >got
LC_ALL=C sort want | diff - got >err || fail "not what was done ('>': what was seen)"
exit 0
