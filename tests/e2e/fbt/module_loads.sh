# Modules that are loaded while a session runs bring their functions and events to it, with exact counts; those that are unloaded take them away; what is traced besides goes on.
fail() { echo "$1"; cat "$TMP/out" "$TMP/session" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
: >out; : >err; : >session
timeout 300 "$DTRACE" -ln fbt::vfs_write:entry >out 2>err || { echo "this kernel has no kprobes"; exit 67; }
for module in null_blk vsock_loopback; do
	{ modprobe $module && modprobe -r $module; } >out 2>&1 || rmmod $module 2>/dev/null || { echo "the module $module cannot be had"; exit 67; }
done
await() { # TEXT COUNT: until the session's messages have it so often
	for _ in $(seq 600); do [ "$(grep -cF "$1" err)" -ge "$2" ] && return; kill -0 $session 2>/dev/null || fail "the session has ended"; sleep 0.1; done
	fail "no '$1'"
}
write() { dd if=/dev/zero of=/dev/nullb0 bs=4096 count="$1" oflag=direct 2>/dev/null || fail "writing to the device"; }
plain() { dd if=/dev/zero of=plain bs=77 count=100 2>/dev/null || fail "writing"; }
cat >packets.py <<'END2'
import socket
server = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
server.bind((socket.VMADDR_CID_ANY, 4242)); server.listen()
client = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
client.connect((1, 4242))
peer, _ = server.accept()
for i in range(9):
    client.send(b"x" * 77); peer.recv(77)
END2
cat >come.d <<'END2'
fbt::vfs_write:entry /execname == "dd" && arg2 == 77/ { @["writes"] = count(); }
/* A thread of the kernel may hand the request to the device: what the request is to do tells it from those that read the partition table. */
fbt:null_blk:null_queue_rq:entry { this->rq = (struct request *)((struct blk_mq_queue_data *)arg1)->rq; self->writes = (this->rq->cmd_flags & 0xff) == 1; }
fbt:null_blk:null_queue_rq:entry /self->writes/ { @["requests"] = count(); @[probemod] = count(); @b = sum(this->rq->__data_len); }
fbt:null_blk:null_queue_r[q]:return /self->writes/ { @["returns"] = count(); self->writes = 0; }
fbt:null_blk::entry { self->seen = 1; }
sdt:vsock::virtio_transport_alloc_pkt /arg4 == 77/ { @["packets"] = count(); }
rawtp:vsock::virtio_transport_alloc_pkt /arg4 == 77/ { @["raw packets"] = count(); }
rawtp:::virtio_transport_alloc_pk[t] /arg4 == 77/ { @["raw packets of a pattern"] = count(); }
END { printa("%s %@d\n", @); printa("bytes %@d\n", @b); }
END2
timeout 500 "$DTRACE" -Zqxdebug -o session -s come.d >out 2>err & session=$!
await "'fathom_kfunc': attached" 1
plain
modprobe null_blk || fail "null_blk cannot be loaded"
await "the module 'null_blk' has come" 1
plain; write 20
modprobe vsock_loopback || fail "vsock_loopback cannot be loaded"
await "the module 'vmw_vsock_virtio_transport_common' has come" 1; await "the module 'vsock_loopback' has come" 1
timeout 60 /usr/bin/python3 packets.py || fail "sockets"
want=20
# where functions have a kprobe each, the module may go, and come again; a link to many keeps it
if rmmod null_blk 2>/dev/null; then
	await "the module 'null_blk' has gone" 1
	plain
	modprobe null_blk || fail "null_blk cannot be loaded again"
	await "the module 'null_blk' has come" 2
	write 30; want=50
else
	plain; grep -q "'null_blk' has gone" err && fail "it is there and has gone"
fi
kill -INT $session; wait $session || fail "the session"
for line in "writes 300" "requests $want" "null_blk $want" "returns $want" "bytes $((want * 4096))" "packets 9" "raw packets 9" "raw packets of a pattern 9"; do grep -qx "$line" session || fail "no '$line'"; done
grep -v DEBUG err | grep . && fail "messages"
rmmod null_blk || fail "the module is held after the session"
modprobe -r vsock_loopback 2>/dev/null
exit 0
