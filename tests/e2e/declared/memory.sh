# Lack of memory: pages of a program go to swap and come back; a control group that gets less memory loses as many pages of a file as are gone from the page cache; a program that reaches
# its group's limit takes back pages as often as the kernel has counted that, and as many of swap and of files.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
has() { grep -qx "$1" out || fail "this line is missing: $1"; }
cd "$TMP" || exit 1
: >out; : >err; ran=
file=$(mktemp /var/tmp/fathom_memory.XXXXXX) zram= swap= group=
leave() {
	[ -z "$swap" ] || swapoff "/dev/zram$zram"
	for i in 1 2 3 4 5 6 7 8 9; do [ -z "$zram" ] || { echo "$zram" >/sys/class/zram-control/hot_remove; } 2>/dev/null || { sleep 0.3; continue; }; break; done
	[ -z "$group" ] || rmdir "$group"
	rm -f "$file"
}
trap leave EXIT
cat >memory.d <<'END'
int phase;
syscall::kill:entry /pid == $target && arg1 == 0/ { phase++; }
vminfo:::pgswapout, vminfo:::pgswapin, vminfo:::anonpgout, vminfo:::anonpgin, vminfo:::pgpgout, vminfo:::pgpgin, vminfo:::dfree, vminfo:::fsfree, vminfo:::anonfree
/pid == $target && phase/ { @[phase, probename] = sum(arg0); }
/* how often the group has reached its limit: memory.events of version 2, which version 1 counts, too, and shows to nobody */
syscall::kill:entry /pid == $target && arg1 == 0/
{
	printf("%d limit %d\n", phase, ((struct mem_cgroup *)curthread->cgroups->subsys[memory_cgrp_id])->memory_events[MEMCG_MAX].counter);
}
vminfo:::pgrrun /pid == $target && phase/ { @[phase, probename] = sum(arg0); }
/* the kernel's own counters are about all programs */
vminfo:::anonfree, vminfo:::fsfree /phase == 1/ { @all[probename] = sum(arg0); }
rawtp:::mm_filemap_delete_from_page_cache /pid != $target && phase/ { @others[args[0]->mapping->host->i_ino] = count(); }
END { printa("%d %s %@d\n", @); printa("others %d %@d\n", @others); printa("all %s %@d\n", @all); }
END
cat >swap.py <<'END'
import mmap, os
PAGE, n = mmap.PAGESIZE, 60
def phase(): os.kill(os.getpid(), 0)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}) # madvise() takes no pages that are on their way to the lists of another CPU
m = mmap.mmap(-1, n * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); m.madvise(mmap.MADV_NOHUGEPAGE)
for i in range(n): m[i * PAGE:(i + 1) * PAGE] = os.urandom(PAGE)
m[0] # a program whose own pages were taken reads them here, and not in a phase
phase() # 1
m.madvise(21) # MADV_PAGEOUT
phase() # 2
for i in range(n): m[i * PAGE]
phase() # 3: the end of the program may read pages of its own
END
# before Linux 6.3, pages are handed to zram without a transfer: no probe sees them
case $(uname -r) in [1-5].* | 6.[0-2].*) false ;; esac &&
	zram=$(cat /sys/class/zram-control/hot_add 2>/dev/null) && echo 16M >"/sys/block/zram$zram/disksize" && mkswap "/dev/zram$zram" >out 2>err && swapon "/dev/zram$zram" 2>err && swap=1
if [ -n "$swap" ]; then
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qs memory.d -c "/usr/bin/python3 swap.py" >out 2>err || fail "swap"
	for line in '1 pgswapout 60' '1 anonpgout 60' '1 pgpgout 60' '2 pgswapin 60' '2 anonpgin 60' '2 pgpgin 60'; do has "$line"; done
	grep -q '^1 .*pg.*in \|^2 .*out ' out && fail "pages go the other way"
	ran=1
fi
cat >group.py <<'END'
import ctypes, mmap, os, sys
group, path = sys.argv[1:3]
libc = ctypes.CDLL(None)
PAGE, n = mmap.PAGESIZE, 5000
def phase(): os.kill(os.getpid(), 0)
def limit(text): open(group + "/" + ("memory.max" if os.path.exists(group + "/memory.max") else "memory.limit_in_bytes"), "w").write(text)
f = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
os.ftruncate(f, n * PAGE); os.posix_fadvise(f, 0, 0, os.POSIX_FADV_RANDOM)
m = mmap.mmap(f, n * PAGE)
def resident():
    at, vec = ctypes.addressof(ctypes.c_char.from_buffer(m)), (ctypes.c_ubyte * n)()
    assert libc.mincore(ctypes.c_void_p(at), ctypes.c_size_t(n * PAGE), vec) == 0
    return sum(v & 1 for v in vec)
limit(str(1 << 40)); resident() # pages of the program itself are read before they would be the group's
open(group + "/cgroup.procs", "w").write("0")
for i in range(n): os.pwrite(f, b"x" * PAGE, i * PAGE)
os.fsync(f)
for i in range(n): m[i * PAGE] # pages that are mapped are left alone by DAMON, which frees others on its own account where a machine is set up so
phase()
before = resident()
limit(str(10 << 20)) # enough for the program itself, which the kernel kills when it finds no page to take back
phase()
print("freed", before - resident(), before, flush=True)
for i in range(n): m[i * PAGE]
phase()
END
# fill.py GROUP: writes to more memory than its group may have, when there is swap; what /proc/vmstat has counted meanwhile, at least and at most
cat >fill.py <<'END'
import mmap, os, sys
group = sys.argv[1]
PAGE, n = mmap.PAGESIZE, 3000
def phase(): os.kill(os.getpid(), 0)
def limit(text): open(group + "/" + ("memory.max" if os.path.exists(group + "/memory.max") else "memory.limit_in_bytes"), "w").write(text)
def stolen():
    lines = dict(line.split() for line in open("/proc/vmstat"))
    return {"anonfree": int(lines["pgsteal_anon"]), "fsfree": int(lines["pgsteal_file"])}
m = mmap.mmap(-1, n * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); m.madvise(mmap.MADV_NOHUGEPAGE)
data = os.urandom(PAGE)
limit(str(1 << 40))
open(group + "/cgroup.procs", "w").write("0")
first = stolen(); phase(); second = stolen()
limit(str(4 << 20))
for i in range(n): m[i * PAGE:(i + 1) * PAGE] = data
limit(str(1 << 40))
third = stolen(); phase(); fourth = stolen()
for name in first: print("kernel", name, third[name] - second[name], fourth[name] - first[name])
END
# limits_agree FROM TO: the program has begun to take back pages as often as its group has reached its limit
limits_agree() {
	reached=$(($(sed -n "s/^$2 limit //p" out) - $(sed -n "s/^$1 limit //p" out))) began=$(sed -n "s/^$1 pgrrun //p" out)
	[ "$reached" -gt 10 ] && [ "${began:-0}" = "$reached" ] || fail "the group has reached its limit $reached times, pages were taken back ${began:-0} times"
}
for dir in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	[ -z "$group" ] && mkdir "$dir/fathom_$$" 2>/dev/null || continue
	group=$dir/fathom_$$
	[ -w "$group/memory.max" ] || [ -w "$group/memory.limit_in_bytes" ] || { rmdir "$group"; group=; }
done
if [ -n "$group" ]; then
	if [ -n "$swap" ]; then
		timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qs memory.d -c "/usr/bin/python3 fill.py $group" >out 2>err || fail "a group that is full"
		limits_agree 1 2
		while read -r word name least most; do
			[ "$word" = kernel ] || continue
			counted=$(sed -n "s/^all $name //p" out)
			[ "${counted:-0}" -ge "$least" ] && [ "${counted:-0}" -le "$most" ] || fail "$name: ${counted:-0}, the kernel says $least to $most"
		done <out
		[ "$(sed -n 's/^1 anonfree //p' out)" -ge 1500 ] || fail "the kernel has taken back too few pages"
	fi
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qs memory.d -c "/usr/bin/python3 group.py $group $file" >out 2>err || fail "control group"
	freed=$(sed -n 's/^freed \([0-9]*\) [0-9]*$/\1/p' out) dfree=$(sed -n 's/^1 dfree //p' out)
	[ "${freed:-0}" -ge 1500 ] && [ "${dfree:-0}" -ge 1500 ] || fail "the kernel has freed too little"
	# Others may free pages of the file in the same time (kswapd, DAMON); the kernel says of which file a page is, and who frees it.
	others=$(sed -n "s/^others $(stat -c %i "$file") //p" out)
	[ "$dfree" -le "$freed" ] && [ "$freed" -le $((dfree + ${others:-0})) ] || fail "$freed pages were freed, ${others:-0} of them by others"
	has "1 fsfree $dfree"
	limits_agree 2 3
	grep -q anonfree out && fail "pages of a program without swap"
	ran=1
fi
[ -n "$ran" ] || { echo "neither swap in compressed memory (zram) nor a control group with a limit of memory can be made here"; exit 67; }
exit 0
