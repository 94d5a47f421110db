# A guard of the library reads what the kernel gave to the probe, and has no code for what cannot be read; a guard of a script has.
fail() { echo "$1"; cat "$TMP/out"; exit 1; }
cd "$TMP" || exit 1
MINE='provider mine { probe written(int n) = rawtp:::block_bio_queue /args[0]->bi_opf & 1/ (1); };'
# dump PROGRAM: its BPF instructions
dump() { $DTRACE -xdump=bpf -qn "$1 { @ = count(); } BEGIN { exit(0); }" >out 2>&1 || fail "it is refused: $1"; }
dump "$MINE mine:::written"
grep -q 'call helper 113$' out || fail "a script's guard does not learn what cannot be read"
grep -q 'call kernel function' out || { echo "this kernel lets programs read by the helper only"; exit 67; }
dump vminfo:::pgswapout
grep -q 'call kernel function' out || fail "the library's guard reads nothing"
grep -q 'call helper 113$' out && fail "a guard of the library has code for what cannot be read"
dump 'vminfo:::pgswapout /curthread->pid/'
grep -q 'call helper 113$' out || fail "the predicate behind a guard of the library does not learn what cannot be read"
cat >bad.d <<'XEND'
provider bad { probe one(int n) = syscall::getppid:entry / *(int *)0xffffffff00000040 == 0 / (1); };
bad:::one { @ = count(); }
syscall::getppid:return /pid == $target/ { exit(0); }
XEND
echo 'import os; os.getppid()' >ask.py
$DTRACE -qs bad.d -c "/usr/bin/python3 $TMP/ask.py" >out 2>&1
grep -q 'invalid address' out || fail "that a script's guard cannot read is not said"
exit 0
