# Provider mib: its counters grow by what the kernel's own, of a network namespace, grow by.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
unshare -n true 2>/dev/null && command -v ip >/dev/null || { echo "no network namespace, or no ip (package iproute2)"; exit 67; }
cat >"$TMP/work.py" <<'END'
import socket, struct, time
a, port = "127.0.0.1", 4731
s = socket.create_server((a, port))
for i in range(3):
    c = socket.create_connection((a, port)); p, _ = s.accept()
    for k in range(5): c.sendall(b"x" * 1000); p.recv(1000, socket.MSG_WAITALL)
    if i == 2: c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)) # a reset
    c.close()
    try: assert p.recv(1) == b""
    except ConnectionResetError: pass
    p.close()
try: socket.create_connection((a, port + 1))
except ConnectionRefusedError: pass
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind((a, port))
c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(7): c.sendto(b"x" * 100, (a, port)); u.recv(200)
for i in range(2): c.sendto(b"x", (a, port + 1))
r = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
for i in range(3): # echo requests, and a mask request, which nobody answers
    r.sendto(struct.pack("!BBHHH", 8, 0, 0xf7fe - i, 1, i), (a, 0)); r.recv(100); r.recv(100)
r.sendto(struct.pack("!BBHHHI", 17, 0, 0xeefe, 1, 0, 0), (a, 0)); r.recv(100)
def no_ports():
    names, values = [l.split() for l in open("/proc/net/snmp") if l.startswith("Udp:")]
    return int(values[names.index("NoPorts")])
for i in range(2000): # until what was sent last has arrived
    if no_ports() == 2: break
    time.sleep(0.01)
lines = open("/proc/net/snmp").read().split("\n")[:-1] + open("/proc/net/netstat").read().split("\n")
for names, values in zip(lines[::2], lines[1::2]):
    proto, *names = names.split(); values = values.split()[1:]
    for n, v in zip(names, values): print("kernel", proto.rstrip(":").lower() + n, v, flush=True)
END
printf '#!/bin/sh\nip link set lo up\nexec /usr/bin/python3 %s/work.py\n' "$TMP" >"$TMP/run"; chmod +x "$TMP/run"
# What is counted in other namespaces is left out by the processes: all happens on loopback, in the program's own context. Only a machine that is
# so slow that packets have to wait handles some of them in other contexts, among those of others; and packets of other namespaces, whose
# interrupts have come while the program ran, are handled in its context (foreign: no counter grows by more than their bytes).
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'mib::: /pid == $target/ { @[probename] = sum(args[0]); @one = min(arg0 > 0); }
	mib::: /pid != $target/ { @other[probename] = sum(args[0]); }
	BEGIN { host = curthread->nsproxy->net_ns; }
	rawtp:::netif_receive_skb, rawtp:::net_dev_queue /pid == $target &&
		(args[0]->dev->nd_net.net != curthread->nsproxy->net_ns || args[0]->dev->nd_net.net == host)/ { @foreign = sum(args[0]->len + 100); }
	END { printa("%s %@d\n", @); printa("all %@d\n", @one); printa("foreign %@d\n", @foreign); printa("others had %s %@d\n", @other); }' \
	-c "unshare -n $TMP/run" >"$TMP/out" 2>"$TMP/err" || fail "failed"
python3 - "$TMP/out" <<'END' || fail "the numbers do not agree"
import sys
kernel, got, other = {}, {}, {}
for l in map(str.split, open(sys.argv[1])):
    if len(l) == 3: kernel[l[1]] = int(l[2])
    elif len(l) == 2: got[l[0]] = int(l[1])
    elif len(l) == 4: other[l[2]] = int(l[3])
foreign = got.get("foreign", 0)
for k in ("tcpActiveOpens tcpPassiveOpens tcpAttemptFails tcpEstabResets tcpInSegs tcpOutSegs tcpOutRsts tcpRetransSegs udpOutDatagrams udpNoPorts "
          "ipInReceives ipOutRequests icmpOutMsgs icmpOutDestUnreachs icmpInMsgs icmpInDestUnreachs icmpInEchos icmpInEchoReps icmpInAddrMasks").split():
    assert got.get(k, 0) - foreign <= kernel[k] <= got.get(k, 0) + other.get(k, 0), f"{k}: {got.get(k, 0)}, the kernel says {kernel[k]}"
for k, of in ("ipIfStatsHCInOctets", "ipextInOctets"), ("ipIfStatsHCOutOctets", "ipextOutOctets"):
    assert got.get(k, 0) - foreign <= kernel[of] <= got.get(k, 0) + other.get(k, 0), f"{k}: {got.get(k, 0)}, the kernel says {kernel[of]}"
assert kernel["tcpActiveOpens"] == 4 and kernel["udpNoPorts"] == 2 and kernel["tcpEstabResets"] == 2
want = dict(tcpOutDataBytes=15000, tcpInDataInorderBytes=15000, tcpOutDataSegs=15, tcpInDataInorderSegs=15, tcpInAckBytes=15000, udpInDatagrams=9, tcpInClosed=1, rawipOutDatagrams=4, icmpInAddrMasks=1, all=1)
assert all(got.get(k, 0) - (foreign if k != "all" else 0) <= v <= got.get(k, 0) + other.get(k, 0) for k, v in want.items()), want
END
exit 0
