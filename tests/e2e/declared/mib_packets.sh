# Provider mib: packets made by hand, good and bad ones, are counted once each, as the kernel counts them.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
unshare -n true 2>/dev/null && command -v ip >/dev/null || { echo "no network namespace, or no ip (package iproute2)"; exit 67; }
cat >"$TMP/work.py" <<'END'
import os, socket, struct, time
a = "127.0.0.1"; ip4 = socket.inet_aton(a)
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
def csum(b):
    b += b"\0" * (len(b) & 1); s = sum(struct.unpack(f"!{len(b) // 2}H", b)); s = (s >> 16) + (s & 0xffff); return ~(s + (s >> 16)) & 0xffff
def packet(proto, body, version=4, sum_add=0):
    h = struct.pack("!BBHHHBBH4s4s", version << 4 | 5, 0, 20 + len(body), 7, 0, 64, proto, 0, ip4, ip4)
    return h[:10] + struct.pack("!H", csum(h) + sum_add & 0xffff) + h[12:] + body
def send(proto, body): raw.sendto(packet(proto, body), (a, 0))
def pseudo(proto, body): return csum(ip4 + ip4 + struct.pack("!BBH", 0, proto, len(body)) + body)
def icmp(kind, good=True):
    b = struct.pack("!BBHHH", kind, 0, 0, 1, 1) + b"\0" * 12; return b[:2] + struct.pack("!H", csum(b) + (not good) & 0xffff) + b[4:]
def udp(port, good=True):
    b = struct.pack("!HHHH", 4999, port, 18, 0) + b"x" * 10; return b[:6] + struct.pack("!H", pseudo(17, b) + (not good) & 0xffff) + b[8:]
def tcp(sport, dport, seq, ack, data=b"", good=True):
    b = struct.pack("!HHIIBBHHH", sport, dport, seq & 0xffffffff, ack & 0xffffffff, 0x50, 0x10, 512, 0, 0) + data
    return b[:16] + struct.pack("!H", pseudo(6, b) + (not good) & 0xffff) + b[18:]
def waiting(): return any(int(l.split()[11], 16) for l in open("/proc/net/softnet_stat"))
def phase(): # what was sent has arrived, where a busy machine lets packets wait
    for i in range(10000):
        if not waiting(): break
        os.sched_yield()
    os.kill(os.getpid(), 0)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind((a, 4733)); u.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
s = socket.create_server((a, 4734)); c = socket.create_connection((a, 4734)); p, _ = s.accept()
c.sendall(b"x" * 100); p.recv(100, socket.MSG_WAITALL); time.sleep(0.2)
c.setsockopt(6, 19, 1) # TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ: the numbers of the connection
def number(queue): c.setsockopt(6, 20, queue); return c.getsockopt(6, 21) & 0xffffffff
rcv, snd = number(1), number(2); c.setsockopt(6, 20, 0); c.setsockopt(6, 19, -1)
port = c.getsockname()[1]
phase()
for i in range(4): send(1, icmp(8))
for i in range(3): send(1, icmp(13))
for i in range(2): send(1, icmp(5)); send(1, icmp(11)); send(1, icmp(12))
for i in range(5): send(1, icmp(8, False))
for i in range(3): send(253, b"who")
for i in range(2): send(17, udp(4733, False))
for i in range(4): send(6, tcp(port, 4734, snd, rcv, b"bad", False))
for i in range(40): send(17, udp(4733))
link = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM); lo = ("lo", 0x800)
for i in range(2): link.sendto(packet(17, udp(4733), 4, 1), lo) # the header's checksum is wrong
for i in range(3): link.sendto(packet(17, udp(4733), 5), lo)    # version 5
phase()
for i in range(3): send(6, tcp(port, 4734, snd - 10, rcv, b"d" * 10)) # old bytes
for i in range(2): send(6, tcp(port, 4734, snd + 100, rcv, b"u" * 10)) # bytes behind a gap
phase()
for i in range(2): send(6, tcp(port, 4734, snd, rcv + 1000)) # what was never sent is acknowledged
phase()
send(6, tcp(port, 4734, snd - 5, rcv, b"p" * 15)) # old bytes and new ones
phase()
p.send(b"!", socket.MSG_OOB)
phase()
lines = open("/proc/net/snmp").read().split("\n") + open("/proc/net/netstat").read().split("\n")
phase() # what the end of the connection sends is not in the kernel's numbers
for names, values in zip(lines[::2], lines[1::2]):
    proto, *names = names.split() or [""]; values = values.split()[1:]
    for n, v in zip(names, values): print("kernel", proto.rstrip(":").lower() + n, v, flush=True)
END
sed -i 's|open("/proc/net/snmp").read().split("\\n") + open|open("/proc/net/snmp").read().rstrip().split("\\n") + open|; s|open("/proc/net/netstat").read().split|open("/proc/net/netstat").read().rstrip().split|' "$TMP/work.py"
printf '#!/bin/sh\nip link set lo up\nexec /usr/bin/python3 %s/work.py\n' "$TMP" >"$TMP/run"; chmod +x "$TMP/run"
# Packets that have waited are handled in the context of whoever runs then: among those of others, and foreign ones in ours (mib.sh).
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'int phase; syscall::kill:entry /pid == $target/ { phase++; } mib::: /pid == $target/ { @[phase, probename] = sum(args[0]); }
	mib::: /pid != $target/ { @other[phase, probename] = sum(args[0]); }
	BEGIN { host = curthread->nsproxy->net_ns; }
	rawtp:::netif_receive_skb, rawtp:::net_dev_queue /pid == $target &&
		(args[0]->dev->nd_net.net != curthread->nsproxy->net_ns || args[0]->dev->nd_net.net == host)/ { @foreign = sum(args[0]->len + 100); }
	END { printa("foreign %@d\n", @foreign); printa("%d %s %@d\n", @); printa("others %d %s %@d\n", @other); }' \
	-c "unshare -n $TMP/run" >"$TMP/out" 2>"$TMP/err" || fail "failed"
/usr/bin/python3 - "$TMP/out" <<'END' || fail "the numbers do not agree"
import sys
kernel, got, others, foreign = {}, {}, {}, 0
for l in map(str.split, open(sys.argv[1])):
    if l and l[0] == "kernel": kernel[l[1]] = int(l[2])
    elif l and l[0] == "foreign": foreign = int(l[1])
    elif len(l) == 3: got[int(l[0]), l[1]] = int(l[2])
    elif len(l) == 4: others[int(l[1]), l[2]] = int(l[3])
all_of = lambda n, of=got: sum(v for (phase, name), v in of.items() if name == n and phase < 7)
def differs(n, ours, more, want): return [] if ours - foreign <= want <= ours + more else [f"{n} is {ours}, that of others {more}, not {want}"]
bad = []
def check(phase, **want):
    for n, v in want.items(): bad.extend(differs(f"phase {phase}: {n}", got.get((phase, n), 0), others.get((phase, n), 0), v))
check(1, icmpInEchos=9, icmpOutEchoReps=4, icmpInEchoReps=4, icmpInTimestamps=3, icmpOutTimestampReps=3, icmpInTimestampReps=3, icmpInRedirects=2, icmpInTimeExcds=2,
      icmpInParmProbs=2, icmpOutRedirects=2, icmpOutTimeExcds=2, icmpOutParmProbs=2, icmpInCksumErrs=5, ipInUnknownProtos=3, udpInCksumErrs=2, tcpInErrs=4, ipInCksumErrs=2,
      ipInHdrErrors=3)
check(2, tcpInDataDupSegs=3, tcpInDataDupBytes=30, tcpInDataUnorderSegs=2, tcpInDataUnorderBytes=20, tcpInDataInorderSegs=0)
check(3, tcpInAckUnsent=2)
check(4, tcpInDataPartDupSegs=1, tcpInDataPartDupBytes=5)
check(5, tcpOutUrg=1, tcpOutDataSegs=1, tcpOutDataBytes=1)
for ours, theirs in dict(icmpInCksumErrs="icmpInCsumErrors", icmpInEchoReps="icmpInEchoReps", icmpInTimestampReps="icmpInTimestampReps",
                         ipInUnknownProtos="ipInUnknownProtos", udpInCksumErrs="udpInCsumErrors", udpInOverflows="udpRcvbufErrors", tcpInErrs="tcpInErrs", ipInReceives="ipInReceives").items():
    bad.extend(differs(ours, all_of(ours), all_of(ours, others), kernel[theirs]))
headers = lambda of: all_of("ipInCksumErrs", of) + all_of("ipInHdrErrors", of)
bad.extend(differs("ipInHdrErrors", headers(got), headers(others), kernel["ipInHdrErrors"]))
if not 0 < kernel["udpRcvbufErrors"] < 40: bad.append("the socket had room for all")
print("\n".join(bad)); sys.exit(bool(bad))
END
exit 0
