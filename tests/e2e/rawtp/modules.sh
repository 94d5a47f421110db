# Tracepoints of a module of the kernel have the types of the module: members of a struct that only the module has name the device whose zones a program asks for.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
: >out; : >err
modprobe null_blk zoned=1 zone_size=4 gb=1 >out 2>&1 && [ -e /sys/kernel/btf/null_blk ] || { echo "the module null_blk cannot be had with its BTF"; exit 67; }
trap 'rmmod null_blk' EXIT
zones=$(cat /sys/block/nullb0/queue/nr_zones 2>/dev/null)
[ "$zones" = 256 ] || { echo "this kernel has no zoned devices"; exit 67; }

timeout 100 "$DTRACE" -lvn rawtp:::nullb_report_zones >out 2>err || fail "listing"
grep -q 'args\[0\]: struct null_blk`nullb \*' out || fail "types of the arguments"
id=$(awk '$2 == "rawtp" { print $1 }' out)
timeout 100 "$DTRACE" -l -i "$id" >out 2>err || fail "listing by id"
grep -q ' nullb_report_zones$' out || fail "the id means another probe"
timeout 100 "$DTRACE" -lP rawtp 2>err >out || fail "listing all"
[ "$(awk '$4 == "nullb_report_zones" { print $1 }' out)" = "$id" ] || fail "not listed once with the same id"

cat >work.py <<'END2'
import fcntl, struct
with open("/dev/nullb0", "rb") as f:
    for i in range(7):
        ask = bytearray(struct.pack("QII", 0, 4, 0) + bytes(4 * 64))
        fcntl.ioctl(f, 0xc0101282, ask) # BLKREPORTZONE
        assert struct.unpack_from("QII", ask)[1] == 4
END2
timeout 100 "$DTRACE" -qn 'rawtp:::nullb_report_zones /pid == $target/ { @[stringof(args[0]->disk_name), args[0]->dev->nr_zones, arg9] = count(); }
	rawtp:nullb::nullb_report_zone[s] /pid == $target/ { @p = sum(args[0]->index + 1); } END { printa("%s %d %d: %@d\n", @); printa("pattern %@d\n", @p); }' \
	-c "/usr/bin/python3 work.py" >out 2>err || fail "the session"
grep -qx 'nullb0 256 0: 7' out && grep -qx 'pattern 7' out || fail "7 reports of the device"
timeout 100 "$DTRACE" -n 'rawtp:::nullb_report_zone { exit(0); }' >out 2>err && fail "a tracepoint that does not exist"
grep -q "did you mean 'rawtp:::nullb_report_zones'" err || fail "the hint"
exit 0
