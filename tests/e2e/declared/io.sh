# Provider io: transfers of a loop device and of a zram disk are counted once each, and arguments are what the program asked for.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
has() { grep -qxF "$1" "$TMP/out" || fail "this line is missing: $1"; }
truncate -s 16M "$TMP/image"
dev=$(losetup -f --show "$TMP/image" 2>/dev/null) || { echo "no loop device can be had"; exit 67; }
trap 'umount "$TMP/mnt" 2>/dev/null; losetup -d "$dev"; umount "$TMP/full" 2>/dev/null; [ -z "$zram" ] || echo "$zram" >/sys/class/zram-control/hot_remove' EXIT
name=$(basename "$dev")
# arg0 is the same at the start and at the end; so are device and block, by which other scripts find their start
cat >"$TMP/io.d" <<'END2'
this string what;
io:::start /args[1]->dev_statname == $$1/ {
	began[arg0] = 1; where[args[0]->b_edev, args[0]->b_blkno] = 1;
	@["start", args[0]->b_flags & B_READ ? "read" : "write", args[0]->b_bcount, args[0]->b_blkno, args[2]->fi_pathname] = count();
	@n["started by", execname == $$2 ? "the program" : "others", args[0]->b_bufsize == args[0]->b_bcount] = count();
	@n["device", args[1]->dev_name, args[1]->dev_pathname == strjoin("/dev/", $$1)] = count();
	@n["number", "", args[1]->dev_major << 20 | args[1]->dev_minor] = count();
	@n["edev", "", args[0]->b_edev] = count();
	@n["kind", args[0]->b_flags & B_PHYS ? "direct" : "paged", args[0]->b_flags & (B_DONE | B_ERROR)] = count();
}
io:::done /args[1]->dev_statname == $$1/ {
	@["done", args[0]->b_flags & B_READ ? "read" : "write", args[0]->b_bcount, args[0]->b_blkno, args[2]->fi_pathname] = count();
	@n["end", args[0]->b_error ? "error" : "good", args[0]->b_flags & (B_DONE | B_ERROR)] = count();
	@n["pair", "", began[arg0] + where[args[0]->b_edev, args[0]->b_blkno]] = count();
	began[arg0] = 0;
}
END { printa("%s %s %d at %d %s: %@d\n", @); printa("%s %s %d: %@d\n", @n); }
END2
cat >"$TMP/work.py" <<'END2'
import mmap, os, sys
dev, n = sys.argv[1], int(sys.argv[2])
fd = os.open(dev, os.O_RDWR | os.O_DIRECT)
buf = mmap.mmap(-1, 8192, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for i in range(n): os.pwritev(fd, [buf], 65536 * i)
for i in range(n - 2): os.preadv(fd, [memoryview(buf)[:4096]], 1 << 20)
END2
run() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qs "$TMP/io.d" "$@" >"$TMP/out" 2>"$TMP/err" || fail "$* failed"; }
run -c "/usr/bin/python3 $TMP/work.py $dev 5" "$name" python3
for i in 0 1 2 3 4; do for what in start done; do has "$what write 8192 at $((i * 128)) <none>: 1"; done; done
has "start read 4096 at 2048 <none>: 3"; has "done read 4096 at 2048 <none>: 3"
has "started by the program 1: 8"; has "device loop 1: 8"; has "kind direct 0: 8"; has "end good 2: 8"; has "pair  2: 8"
grep -q "^edev  $(sed -n 's/^number  \([0-9]*\): 8$/\1/p' "$TMP/out"): 8$" "$TMP/out" || fail "the number of the device"
# an error: an image that cannot grow, in a file system that is full; the kernel says that there is no room, or just that it failed
losetup -d "$dev"
mkdir "$TMP/full" && mount -t tmpfs -o size=64k none "$TMP/full" || fail "no tmpfs"
truncate -s 16M "$TMP/full/image"; losetup "$dev" "$TMP/full/image" || fail "losetup"
dd if=/dev/zero of="$TMP/full/rest" bs=4096 status=none 2>/dev/null
cat >"$TMP/write.py" <<'END2'
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_DIRECT)
try: os.pwritev(fd, [mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)], 1 << 20); sys.exit(1)
except OSError: pass
END2
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'io:::done /args[1]->dev_statname == $$1 && args[0]->b_blkno == 2048/ {
	printf("%d %d %d\n", args[0]->b_flags & (B_DONE | B_ERROR), args[0]->b_error == 5 || args[0]->b_error == 28, args[0]->b_resid); }' \
	-c "/usr/bin/python3 $TMP/write.py $dev" "$name" >"$TMP/out" 2>"$TMP/err" && has "6 1 4096"
losetup -d "$dev"; umount "$TMP/full"; losetup "$dev" "$TMP/image" || fail "losetup"
# the file whose pages are written
truncate -s 16M "$TMP/image"
# blocks that are given up are no bytes that are written
if command -v blkdiscard >/dev/null; then
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'rawtp:::block_bio_queue /args[0]->bi_bdev->bd_disk->disk_name == $$1 && (args[0]->bi_opf & 0xff) == 3/ { @["given up"] = sum(args[0]->bi_iter.bi_size); }
		io:::start, io:::done /args[1]->dev_statname == $$1/ { @[probename, args[0]->b_flags & B_READ ? "reads" : "writes"] = sum(args[0]->b_bcount); }' -c "blkdiscard $dev" "$name" >"$TMP/out" 2>"$TMP/err"
	sed -i '/^$/d; s/  */ /g; s/^ //' "$TMP/out"
	grep -q writes "$TMP/out" && fail "blocks that are given up are transfers"
	[ -s "$TMP/err" ] || has "given up 16777216"
fi
if mkfs.ext4 -q "$dev" 2>"$TMP/err" && mkdir "$TMP/mnt" && mount "$dev" "$TMP/mnt"; then
	sync -f "$TMP/mnt"
	run -c "dd if=/dev/zero of=$TMP/mnt/data bs=64k count=2 conv=fsync status=none" "$name" dd
	grep -qE "^start write 131072 at [0-9]+ $TMP/mnt/data: 1" "$TMP/out" || fail "the file, started"
	grep -qE "^done write 131072 at [0-9]+ $TMP/mnt/data: 1" "$TMP/out" || fail "the file, done"
	grep -q '^kind paged 0: ' "$TMP/out" || fail "pages"
fi
# a disk without requests: the bio itself
if zram=$(cat /sys/class/zram-control/hot_add 2>/dev/null) && echo 16M >"/sys/block/zram$zram/disksize"; then
	run -c "/usr/bin/python3 $TMP/work.py /dev/zram$zram 4" "zram$zram" python3
	for i in 0 1 2 3; do for what in start done; do has "$what write 8192 at $((i * 128)) <none>: 1"; done; done
	has "start read 4096 at 2048 <none>: 2"; has "done read 4096 at 2048 <none>: 2"
	has "device zram 1: 6"; has "end good 2: 6"; has "pair  2: 6"
fi
# what cannot be had says what to use instead
FATHOM_NO_FEATURE=KPROBE,KPROBE_MULTI timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n io:::wait-start 2>"$TMP/err" && fail "wait-start is there"
grep -q 'what io:::wait-start is made of is not here: .*cannot be traced.*sched:::sleep' "$TMP/err" || fail "what to use instead of wait-start"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -lvP io >"$TMP/out" 2>"$TMP/err"
for arg in 'args\[0\]: bufinfo_t' 'args\[1\]: devinfo_t' 'args\[2\]: fileinfo_t' 'Evolving' 'ISA'; do grep -q "$arg" "$TMP/out" || fail "the list lacks $arg"; done
exit 0
