# The kernel's NFS server, called by hand: its tracepoints show each call of version 3 and each operation of version 4 once, with the file, what was asked for and what was done.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
: >out; : >err
modprobe nfsd >out 2>&1 && [ -e /sys/kernel/btf/nfsd ] && [ -e /sys/kernel/btf/sunrpc ] || { echo "the module nfsd cannot be had with its BTF"; exit 67; }
unshare -nm true 2>/dev/null && command -v ip >/dev/null || { echo "no network namespace, or no ip (package iproute2)"; exit 67; }
dir=$(mktemp -d /var/tmp/rawtp_nfsd.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
cat >client.py <<'END'
import struct, sys
from nfs_server import *

folder = sys.argv[1]
with open(folder + "/file", "wb") as f: f.write(b"x" * 10000)
root = start(folder)
c = Client()
c.call(3, 0) # NULL
a = good(c.call(3, 3, opaque(root) + opaque(b"file"))) # LOOKUP
file = opaque(a[8:8 + struct.unpack_from(">I", a, 4)[0]])
for i in range(5): good(c.call(3, 6, file + struct.pack(">QI", 2500 * i, 3000))) # READ
for i in range(3): good(c.call(3, 7, file + struct.pack(">QII", 100 * i, 777, 0) + opaque(b"y" * 777))) # WRITE
good(c.call(3, 21, file + struct.pack(">QI", 0, 0))) # COMMIT
for i in range(4): # PUTROOTFH, LOOKUP, READ, GETATTR
    good(compound(c, op(24), op(15, opaque(b"file")), op(25, b"\xff" * 16 + struct.pack(">QI", 100 * i, 500)), op(9, struct.pack(">II", 1, 8))))
compound(c, op(24), op(15, opaque(b"none")), op(9, struct.pack(">II", 1, 8))) # the second operation fails, the third is not tried
end()
END
cat >nfsd.d <<'END'
/* __be32: the number's bytes are turned; a thread of the server has one call at a time */
rawtp:sunrpc::svc_process /args[0]->rq_prog == 100003/ { self->began = timestamp; @calls[args[0]->rq_vers, args[0]->rq_proc] = count(); @xid = max(ntohl(args[0]->rq_xid)); }
rawtp:sunrpc::svc_send /self->began && timestamp > self->began/ { @sent[args[0]->rq_vers, args[0]->rq_proc] = count(); self->began = 0; }
rawtp:nfsd::nfsd_fh_verify /args[0]->rq_vers == 3 && args[0]->rq_proc != 3/ { @file[stringof(args[1]->fh_dentry->d_name.name), args[0]->rq_proc] = count(); }
rawtp:nfsd::nfsd_read_start { @asked[args[0]->rq_vers] = sum(args[3]); }
rawtp:nfsd::nfsd_read_done { @read[args[0]->rq_vers] = sum(args[3]); }
rawtp:nfsd::nfsd_write_done { @written[args[0]->rq_vers, args[2]] = sum(args[3]); }
rawtp:nfsd::nfsd_compound { @ops[((struct nfsd4_compoundargs *)args[0]->rq_argp)->ops[args[3] - 2].opnum] = count(); }
rawtp:nfsd::nfsd_compound_status { @status[stringof(args[3]), ntohl(args[2])] = count(); }
END {
	printa("call %d %d %@d\n", @calls); printa("sent %d %d %@d\n", @sent); printa("xid %@d\n", @xid); printa("file %s %d %@d\n", @file); printa("asked %d %@d\n", @asked);
	printa("read %d %@d\n", @read); printa("written %d %d %@d\n", @written); printa("last but one %d %@d\n", @ops); printa("%s %d %@d\n", @status);
}
END
export PYTHONPATH="$SRC/tests/e2e/data" PYTHONDONTWRITEBYTECODE=1
cat >in.sh <<'END'
ip link set lo up && mount -t nfsd nfsd /proc/fs/nfsd || exit 1
timeout $((100 * ${PATIENCE:-1})) "$DTRACE" -qs nfsd.d -c "/usr/bin/python3 client.py $1"
END
unshare -nm sh in.sh "$dir" >out 2>err || fail "the server, or the session"
while read -r line; do grep -qx "$line" out || fail "no '$line'"; done <<'END'
call 3 0 1
call 3 3 1
call 3 6 5
call 3 7 3
call 3 21 1
call 4 1 5
sent 3 6 5
sent 3 7 3
sent 3 21 1
sent 4 1 5
xid 1016
file file 6 5
file file 7 3
file file 21 1
asked 3 15000
asked 4 2000
read 3 11500
read 4 2000
written 3 0 777
written 3 100 777
written 3 200 777
last but one 25 4
last but one 15 1
OP_PUTROOTFH 0 5
OP_LOOKUP 0 4
OP_LOOKUP 2 1
OP_READ 0 4
OP_GETATTR 0 4
END
[ "$(wc -l <out)" -le 40 ] || fail "more than that"
exit 0
