# Providers ip, tcp, udp, udplite and sctp: packets, connections and bytes are those of the program, on the loopback device and through a bridge and a router.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
has() { grep -qxF "$1" "$TMP/out" || fail "this line is missing: $1"; }
unshare -n true 2>/dev/null && command -v ip >/dev/null || { echo "no network namespace, or no ip (package iproute2)"; exit 67; }
cat >"$TMP/n.d" <<'END'
#define TEST(p) (p >= 4710 && p <= 4719)
tcp:::send, tcp:::receive, tcp:::connect-request, tcp:::connect-established, tcp:::connect-refused, tcp:::accept-established, tcp:::accept-refused
/TEST(args[4]->tcp_sport) || TEST(args[4]->tcp_dport)/ {
	@[probename, args[2]->ip_ver] = count();
	@bytes[probename, args[2]->ip_ver] = sum(args[2]->ip_plength - args[4]->tcp_offset);
	/* a segment's ends and the connection's are the same, turned around for what is received */
	@ends[probename] = sum(probename == "send" || probename == "connect-request" || probename == "accept-refused" ?
	    args[4]->tcp_sport == args[3]->tcps_lport && args[4]->tcp_dport == args[3]->tcps_rport && args[2]->ip_daddr == args[3]->tcps_raddr :
	    args[4]->tcp_dport == args[3]->tcps_lport && args[4]->tcp_sport == args[3]->tcps_rport && args[2]->ip_saddr == args[3]->tcps_raddr);
}
tcp:::connect-request /TEST(args[4]->tcp_dport) && pid == $target && args[4]->tcp_flags == TH_SYN && args[1]->cs_addr == args[3]->tcps_addr/ { @ends["by the program"] = sum(1); }
tcp:::accept-established /TEST(args[4]->tcp_dport) && args[3]->tcps_lport == args[4]->tcp_dport/ { @ends[strjoin("from ", args[2]->ip_saddr)] = sum(1); }
tcp:::receive /TEST(args[4]->tcp_dport) && args[4]->tcp_flags & TH_PUSH && args[3]->tcps_state == TCP_STATE_ESTABLISHED && args[3]->tcps_mss > 500 && args[1]->cs_addr != 0/ { @ends["known"] = sum(1); }
tcp:::state-change /TEST(args[3]->tcps_lport) && args[1]->cs_addr == args[3]->tcps_addr && args[1]->pid == args[1]->cs_pid/ {
	@states[substr(tcp_state_string[args[5]->tcps_state], 6), substr(tcp_state_string[args[3]->tcps_state], 6)] = count(); }
udp:::send, udp:::receive /TEST(args[4]->udp_dport)/ { @u[probeprov, probename, args[2]->ip_ver, args[4]->udp_length] = count(); }
udp:::send, udp:::receive /TEST(args[4]->udp_dport)/ {
	@ends["udp"] = sum(probename == "send" ? args[3]->udps_rport == args[4]->udp_dport : args[3]->udps_lport == args[4]->udp_dport); }
ip:::send, ip:::receive /args[2]->ip_ver == 4 && args[4]->ipv4_protocol == IPPROTO_UDP && args[2]->ip_plength == 108/ {
	@u[probeprov, strjoin(strjoin(probename, " "), args[3]->if_name), 4, args[4]->ipv4_length] = count(); }
ip:::send, ip:::receive /args[2]->ip_ver == 6 && args[5]->ipv6_nexthdr == IPPROTO_UDP && args[2]->ip_plength == 108/ {
	@u[probeprov, strjoin(strjoin(probename, " "), args[3]->if_name), 6, args[5]->ipv6_plen] = count(); }
udplite:::send, udplite:::receive /TEST(args[4]->udplite_dport) && args[3]->udplites_raddr == (probename == "send" ? args[2]->ip_daddr : args[2]->ip_saddr)/ {
	@l[probename, args[2]->ip_ver, args[4]->udplite_coverage, args[3]->udplites_lport == args[4]->udplite_dport] = count(); }
sctp:::send, sctp:::receive /TEST(args[4]->sctp_dport) && args[4]->sctp_sport == 4718 && args[3]->sctps_laddr == args[2]->ip_daddr/ {
	@x[probename, args[2]->ip_ver, args[4]->sctp_verify, args[4]->sctp_checksum, args[3]->sctps_lport] = count(); }
END { printa("udplite %s v%d %d %d: %@d\n", @l); printa("sctp %s v%d %d %d %d: %@d\n", @x); printa("%s v%d: %@d\n", @); printa("bytes %s v%d: %@d\n", @bytes); printa("ends %s: %@d\n", @ends);
      printa("state %s -> %s: %@d\n", @states); printa("%s %s v%d %d: %@d\n", @u); }
END
cat >"$TMP/work.py" <<'END'
import socket, struct, sys, threading
def tcp(f, a):
    s = socket.create_server((a, 4711), family=f)
    for i in range(3):
        c = socket.socket(f); c.connect((a, 4711)); p, _ = s.accept()
        for k in range(5): c.sendall(b"x" * 1000); p.recv(1000, socket.MSG_WAITALL)
        c.close(); assert p.recv(1) == b""; p.close()
    s.close()
    try: socket.socket(f).connect((a, 4712)); sys.exit(1)
    except ConnectionRefusedError: pass
def udp(f, a):
    s = socket.socket(f, socket.SOCK_DGRAM); s.bind((a, 4713)); c = socket.socket(f, socket.SOCK_DGRAM)
    for i in range(7): c.sendto(b"x" * 100, (a, 4713)); s.recv(200)
def lite(f, a):
    try: s = socket.socket(f, socket.SOCK_DGRAM, 136); c = socket.socket(f, socket.SOCK_DGRAM, 136)
    except OSError: print("no udplite", flush=True); return
    s.bind((a, 4716)); c.setsockopt(136, 10, 20) # UDPLITE_SEND_CSCOV
    for i in range(6): c.sendto(b"x" * 100, (a, 4716)); s.recv(200)
def sctp(f, a): # packets of an association that nobody has
    s = socket.socket(f, socket.SOCK_RAW, 132)
    for i in range(4): s.sendto(struct.pack("!HHII", 4718, 4719, 77, 88) + b"\3\0\0\x10" + b"\0" * 12, (a, 0))
families = [(socket.AF_INET, "127.0.0.1")] + ([(socket.AF_INET6, "::1")] if len(sys.argv) > 1 else [])
for f, a in families: tcp(f, a); udp(f, a); lite(f, a); sctp(f, a)
END
run() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -Cqs "$TMP/n.d" -c "$1" >"$TMP/out" 2>"$TMP/err" || fail "failed"; }
six=; [ -d /proc/sys/net/ipv6 ] && six=6
cat >"$TMP/run" <<END
#!/bin/sh
ip link set lo up
exec /usr/bin/python3 $TMP/work.py $six
END
chmod +x "$TMP/run"
run "unshare -n $TMP/run"
for v in 4 ${six:+6}; do
	has "connect-request v$v: 4"; has "connect-established v$v: 3"; has "accept-established v$v: 3"; has "connect-refused v$v: 1"; has "accept-refused v$v: 1"
	has "bytes send v$v: 15000"; has "bytes receive v$v: 15000"
	n=$(sed -n "s/^send v$v: //p" "$TMP/out"); has "receive v$v: $n"; [ "$n" -ge 37 ] || fail "$n segments"
	grep -q 'no udplite' "$TMP/out" || { has "udplite send v$v 20 0: 6"; has "udplite receive v$v 20 1: 6"; }
	has "sctp send v$v 77 88 4718: 4"; has "sctp receive v$v 77 88 4719: 4"
	has "udp send v$v 108: 7"; has "udp receive v$v 108: 7"; has "ip send lo v$v $([ $v = 4 ] && echo 128 || echo 108): 7"; has "ip receive lo v$v $([ $v = 4 ] && echo 128 || echo 108): 7"
done
both=${six:+2}; both=${both:-1}
for p in send receive connect-request connect-established connect-refused accept-established accept-refused; do
	has "ends $p: $(sed -n "s/^$p v[46]: //p" "$TMP/out" | awk "{ n += \$1 } END { print n }")"
done
has "ends by the program: $((4 * both))"; has "ends known: $((15 * both))"; has "ends from 127.0.0.1: 3"; has "ends udp: $((14 * both))"
has "state closed -> listen: $both"; has "state listen -> syn-received: $((3 * both))"; has "state syn-received -> established: $((3 * both))"
has "state established -> close-wait: $((3 * both))"; has "state close-wait -> last-ack: $((3 * both))"; has "state last-ack -> closed: $((3 * both))"
# two hosts behind a bridge, then behind a router: each packet is sent once and received once, whoever passes it on
cat >"$TMP/host.py" <<'END'
import socket, sys
a, port, server = sys.argv[1], 4714, len(sys.argv) > 2
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10)
if server:
    s.bind((a, port)); print("ready", flush=True)
    for i in range(9): d, peer = s.recvfrom(200); s.sendto(d, peer)
else:
    for i in range(9): s.sendto(b"x" * 100, (a, port)); s.recv(200)
END
cat >"$TMP/hosts" <<END
#!/bin/sh -e
ip link set lo up
unshare -n sleep 60 & a=\$!
unshare -n sleep 60 & b=\$!
trap 'kill \$a \$b' EXIT
while [ "\$(readlink /proc/\$a/ns/net)" = "\$(readlink /proc/self/ns/net)" ] || [ "\$(readlink /proc/\$b/ns/net)" = "\$(readlink /proc/self/ns/net)" ]; do :; done
for h in a b; do
	eval pid=\\\$\$h
	ip link add v\$h type veth peer name e\$h netns \$pid
	ip link set v\$h up
done
if [ "\$1" = bridge ]; then
	ip link add br0 type bridge; ip link set br0 up
	ip link set va master br0; ip link set vb master br0
	nsenter -n -t \$a sh -ec 'ip addr add 10.77.0.1/24 dev ea; ip link set ea up'
	nsenter -n -t \$b sh -ec 'ip addr add 10.77.0.2/24 dev eb; ip link set eb up'
	target=10.77.0.2
else
	ip addr add 10.77.1.254/24 dev va; ip addr add 10.77.2.254/24 dev vb
	echo 1 >/proc/sys/net/ipv4/ip_forward
	nsenter -n -t \$a sh -ec 'ip addr add 10.77.1.1/24 dev ea; ip link set ea up; ip route add default via 10.77.1.254'
	nsenter -n -t \$b sh -ec 'ip addr add 10.77.2.1/24 dev eb; ip link set eb up; ip route add default via 10.77.2.254'
	target=10.77.2.1
fi
mkfifo $TMP/ready.\$1
nsenter -n -t \$b /usr/bin/python3 $TMP/host.py \$target server >$TMP/ready.\$1 &
read line <$TMP/ready.\$1
nsenter -n -t \$a /usr/bin/python3 $TMP/host.py \$target
END
chmod +x "$TMP/hosts"
for kind in bridge router; do
	unshare -n ip link add v0 type veth peer name v1 2>/dev/null || break
	run "unshare -n $TMP/hosts $kind"
	has "udp send v4 108: 9"; has "udp receive v4 108: 9" # to the port; the answers go to another one
	has "ip send ea v4 128: 9"; has "ip send eb v4 128: 9"; has "ip receive ea v4 128: 9"; has "ip receive eb v4 128: 9"
	[ "$(grep -c '^ip .* 128: ' "$TMP/out")" = 4 ] || fail "packets that are passed on are counted"
done
exit 0
