# pcap(): packets in the file of freopen(), in the format of pcap, else as a dump; what is no packet (d-language.md 5.2).
cd "$TMP" || exit 1
fail() { echo "$1"; exit 1; }
# a packet as the kernel would make it: 20 of its 40 bytes lie at its data
packet='this->skb = (struct sk_buff *)alloca(sizeof(struct sk_buff)); this->bytes = (unsigned char *)alloca(32);
	bcopy("0123456789abcdefghijklmno", this->bytes, 26); this->skb->data = this->bytes; this->skb->len = 40; this->skb->data_len = 20;'
capture() { "$DTRACE" "$@" >out 2>err || fail "$(cat out err)"; }

# file, lines of text: the header, then packets as "captured length bytes time"
check() {
	python3 - "$1" "$2" <<'EOF' >got || fail "$(cat got)"
import struct, sys
data = open(sys.argv[1], 'rb').read()
print(*struct.unpack('=IHHIIII', data[:24]), int(data[:4][::-1] == b'\xa1\xb2\x3c\x4d'))
at = 24
while at < len(data):
    sec, ns, caplen, size = struct.unpack_from('=IIII', data, at)
    print(caplen, size, data[at + 16:at + 16 + caplen].decode(), sec * 10**9 + ns == int(sys.argv[2]))
    at += 16 + caplen
sys.exit(at != len(data))
EOF
}

# one file, opened twice; text goes where it went before
capture -wqn "BEGIN { $packet freopen(\"%s\", \"a.pcap\"); pcap(this->skb, PCAP_IP); printf(\"%d\", walltimestamp); freopen(\"\"); }
	BEGIN { $packet freopen(\"a.pcap\"); pcap(this->skb, PCAP_IP); exit(0); }"
check a.pcap "$(cat out)"
diff - got <<EOF || fail "capture file"
2712812621 2 4 0 0 1514 101 1
20 40 0123456789abcdefghij True
20 40 0123456789abcdefghij True
EOF

# pcapsize cuts; no bytes at all; lines that are not quiet stay out
capture -x pcapsize=8 -wn "BEGIN { $packet freopen(\"b.pcap\"); pcap(this->skb, PCAP_ETHER); this->skb->len = 20; pcap(this->skb, 1); exit(0); }"
check b.pcap 0
diff - got <<EOF || fail "pcapsize"
2712812621 2 4 0 0 8 1 1
8 40 01234567 False
0 20  False
EOF
grep -q 'BEGIN' out || fail "no line"

# packets of the kernel, where they wait in a socket
cat >sockets.py <<'EOF'
import socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for text in b'a packet of the kernel', b'another one':
    a.send(text)
    b.recv(99)
EOF
capture -wqc 'python3 sockets.py' -n 'BEGIN { freopen("c.pcap"); } syscall::recvfrom:entry /pid == $target/ {
	this->socket = (struct socket *)curthread->files->fdt->fd[arg0]->private_data; pcap(this->socket->sk->sk_receive_queue.next, 147); }'
check c.pcap 0
diff - got <<EOF || fail "packets of the kernel"
2712812621 2 4 0 0 1514 147 1
22 22 a packet of the kernel False
11 11 another one False
EOF

# without a file
capture -qn "BEGIN { $packet pcap(this->skb, PCAP_ETHER); exit(0); }"
diff - out <<EOF || fail "dump"

             0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  0123456789abcdef
         0: 30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef
        10: 67 68 69 6a                                      ghij

EOF

# no packet, no memory, no link type
capture -qn 'BEGIN { pcap(NULL, PCAP_ETHER); } ERROR { printf("fault %d", arg4); exit(0); }'
grep -q 'fault 1' out && grep -q 'invalid address' err || fail "NULL: $(cat out err)"
capture -qn "BEGIN { $packet this->skb->data = (unsigned char *)16; pcap(this->skb, 1); } ERROR { printf(\"fault %d %x\", arg4, arg5); exit(0); }"
grep -q 'fault 1 10' out || fail "data: $(cat out err)"
capture -wqn "BEGIN { $packet freopen(\"a.pcap\"); pcap(this->skb, PCAP_ETHER); pcap(this->skb, -1); exit(0); }"
grep -q 'it holds packets of link type 101, not 1$' err && grep -q 'there is no link type -1$' err || fail "link types: $(cat err)"
check a.pcap 0 && [ "$(wc -l <got)" = 3 ] || fail "a packet too many"

# a file of text stays one
echo text >t
capture -wqn "BEGIN { $packet freopen(\"t\"); pcap(this->skb, 1); printf(\"more\"); exit(0); }"
grep -q "it holds other things than packets" err && [ "$(tr '\n' ' ' <t)" = "text more " ] || fail "text: $(cat t err)"

for size in 0 1048577; do
	"$DTRACE" -x pcapsize=$size -qn 'BEGIN { exit(0); }' 2>err && fail "pcapsize=$size"
	grep -q pcapsize err || fail "$(cat err)"
done
exit 0
