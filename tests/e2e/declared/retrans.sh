# Retransmissions of TCP: a peer made by hand loses segments. One is asked for by repeated acknowledgements, two and a SYN are sent again by the timer.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
unshare -n true 2>/dev/null && command -v ip >/dev/null && [ -c /dev/net/tun ] || { echo "no network namespace, no /dev/net/tun, or no ip (package iproute2)"; exit 67; }
cat >peer.py <<'END'
import fcntl, os, socket, struct, subprocess, sys
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454ca, struct.pack("16sH14x", b"peer", 0x1001)) # TUNSETIFF: IFF_TUN, IFF_NO_PI
subprocess.run("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv4.tcp_fastopen=0; ip addr add 10.9.9.1/24 dev peer && ip link set peer up mtu 1500", shell=True, check=True)
try: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)) # the kernel's timers do not wait for a busy machine
except OSError: pass
me, peer = socket.inet_aton("10.9.9.1"), socket.inet_aton("10.9.9.2")
def csum(b):
    b += b"\0" * (len(b) & 1); s = sum(struct.unpack(f"!{len(b) // 2}H", b)); s = (s >> 16) + (s & 0xffff); return ~(s + (s >> 16)) & 0xffff
def send(flags, seq, ack, options=b""):
    t = struct.pack("!HHIIBBHHH", 80, port, seq, ack & 0xffffffff, (20 + len(options)) // 4 << 4, flags, 60000, 0, 0) + options
    t = t[:16] + struct.pack("!H", csum(peer + me + struct.pack("!BBH", 0, 6, len(t)) + t)) + t[18:]
    h = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(t), 1, 0, 64, 6, 0, peer, me)
    os.write(tun, h[:10] + struct.pack("!H", csum(h)) + h[12:] + t)
def segment(): # the next one: its number and length
    global port
    while True:
        p = os.read(tun, 65536)
        if p[0] >> 4 == 4 and p[9] == 6 and p[16:20] == peer:
            t = p[(p[0] & 15) * 4:]
            port = struct.unpack("!H", t[:2])[0]
            return struct.unpack("!I", t[4:8])[0], len(t) - (t[12] >> 4) * 4, t[13]
def data():
    while True:
        seq, size, flags = segment()
        if size: return seq, size
def phase(): os.kill(os.getpid(), 0)
s = socket.socket(); s.setblocking(False); s.setsockopt(6, socket.TCP_NODELAY, 1)
s.connect_ex(("10.9.9.2", 80))
seq, _, _ = segment()
first = seq + 1
send(0x12, 5000, first, struct.pack("!BBH", 2, 4, 1460)) # no SACK: nothing but the timer and repeated acknowledgements tell of a loss
segment()
for i in range(8): s.send(b"d" * 1000); assert data() == ((first + i * 1000) & 0xffffffff, 1000)
for i in range(4): send(0x10, 5001, first) # the first of eight is lost; the first acknowledgement only tells of the window
assert data() == (first & 0xffffffff, 1000), "the first segment again"
send(0x10, 5001, first + 8000)
for size in 300, 700: # the segment is lost: the timer sends it again
    s.send(b"t" * size); at, n = data(); assert data() == (at, n) == (at, size)
    send(0x10, 5001, at + size)
nobody = socket.socket(); nobody.setblocking(False); nobody.connect_ex(("10.9.9.2", 81))
seq = segment()[0]
assert segment()[0] == seq # it is not answered, and comes again
def counter():
    l = open("/proc/net/snmp").read().split("\n")
    return next(dict(zip(n.split(), v.split()))["RetransSegs"] for n, v in zip(l[::2], l[1::2]) if n.startswith("Tcp:"))
print("kernel", counter(), flush=True)
os._exit(0)
END
others() { awk '$1 == "Tcp:" { n = $13 } END { print n }' /proc/net/snmp; }
before=$(others)
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'mib:::tcpRetransSegs, mib:::tcpRetransBytes, mib:::tcpOutFastRetrans, mib:::tcpTimRetrans { @[probename] = sum(arg0); } END { printa("%s %@d\n", @); }' \
	-c "unshare -n timeout 50 /usr/bin/python3 peer.py" >out 2>err || fail "failed"
others=$(($(others) - before))
# A timer may run in any thread's context, so connections of others cannot be told from these: the kernel says how many segments they have sent again.
python3 - "$others" out <<'END' || fail "the numbers do not agree, $others segments of others"
import sys
others = int(sys.argv[1]); got = dict(l.split() for l in open(sys.argv[2]) if l.strip())
for name, want in dict(kernel=4, tcpRetransSegs=4, tcpOutFastRetrans=1, tcpTimRetrans=3).items():
    assert want <= int(got.get(name, 0)) <= want + (others if name != "kernel" else 0), (name, got.get(name), want)
assert int(got["tcpRetransBytes"]) == 2000 or others and int(got["tcpRetransBytes"]) > 2000, got
END
exit 0
