# memprof objects: exactly the strings and plain objects that are alive and that were created, by line, of a Ruby that is started and one that runs; refusals.
memprof=$BUILD/src/cmd/memprof/memprof
ruby=/usr/bin/ruby3.1
[ -x "$memprof" ] && [ -x $ruby ] || { echo "needs ruby3.1"; exit 67; }
fail() { echo "$1"; head -40 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
# A report is there: of objects of a program that looks for a file meanwhile, or of none.
is_reported() { [ -s out ] || grep -q 'no object was created' err; }
cd "$TMP" || exit 1
cat >test.rb <<'END'
$kept = []
class Other < String; end
sleep 0.1 until ARGV.empty? || File.exist?(ARGV[0])
def made
  100.times do
    $kept << "a#{1}"
  end
end
made
1000.times { $kept << "abc" }
7.times { Other.new("x") }
20000.times { "garb" + "age" }
sleep 30 unless ARGV.empty?
END
# the seed's rows; of 60,000 strings of line 12 some are not swept yet
"$memprof" objects -n 0 -c "$ruby --disable-gems test.rb" >out 2>err || fail "alive"
grep -qx '   1000 test.rb:10:String' out && grep -qx '    100 test.rb:6:String' out || fail "alive: other numbers"
n=$(sed -n 's/^ *\([0-9]*\) test.rb:12:String$/\1/p' out)
[ "${n:-0}" -lt 30000 ] || fail "alive: garbage counts"
grep -q 'could not be checked' err && fail "the program was not held at its end"

# lines of a program that ends at once are known, and one that begins with others is followed through these
cat >short.rb <<END
#!/usr/bin/env ${ruby##*/}
\$kept = []
1000.times { \$kept << "abc" }
END
chmod +x short.rb
for n in 1 2 3 4; do
	"$memprof" objects -n 0 -c "$ruby short.rb" >out 2>err || fail "a short program"
	grep -qx '   1000 short.rb:3:String' out || fail "a short program: no line"
done
for command in "./short.rb" "sh -c 'true & x=\$(echo a); exec $ruby ./short.rb'"; do
	"$memprof" objects -n 0 -c "$command" >out 2>err || fail "$command"
	grep -qx '   1000 ./short.rb:3:String' out && grep -q 'it runs until it executes one' err || fail "$command: other numbers"
done
"$memprof" objects sh -c 'echo before; exec /bin/true' >out 2>err; [ $? = 1 ] && grep -q 'has ended, and had no Ruby' err && grep -qx before out || fail "a command that never executes one"

# one that stops itself before it executes its interpreter stands still until it is let go on
rm -f stopping let_go
"$memprof" objects -n 0 -c "sh -c 'echo \$\$ >stopping.new; mv stopping.new stopping; kill -STOP \$\$; [ -e let_go ] && exec $ruby ./short.rb'" >out 2>err & tracer=$!
for i in $(seq 300); do [ -e stopping ] && break; sleep 0.1; done
sleep 1
touch let_go
for i in $(seq 300); do [ "$(readlink -f /proc/"$(cat stopping)"/exe)" = "$(readlink -f /bin/sh)" ] || break; kill -CONT "$(cat stopping)"; sleep 0.1; done
wait $tracer && grep -qx '   1000 ./short.rb:3:String' out || fail "a command that stops itself"

# what ends a run ends the wait, and with it the command; --show runs nothing
"$memprof" objects -d 0.5 -c "sh -c 'echo \$\$ >waiting; exec sleep 1000'" >out 2>err; [ $? = 1 ] && grep -q 'nothing was traced' err || fail "-d while it waits"
kill -0 "$(cat waiting)" 2>/dev/null && fail "-d leaves the command behind"
rm -f waiting
"$memprof" objects -c "sh -c 'echo \$\$ >waiting.new; mv waiting.new waiting; exec sleep 1000'" >out 2>err & tracer=$!
for i in $(seq 300); do [ -e waiting ] && break; sleep 0.1; done
kill -TERM $tracer
wait $tracer; [ $? = 1 ] && grep -q 'nothing was traced' err || fail "TERM while it waits"
kill -0 "$(cat waiting)" 2>/dev/null && fail "TERM leaves the command behind"
"$memprof" objects --show -c "sh -c 'echo >touched; exec $ruby ./short.rb'" >out 2>err; [ $? = 1 ] && [ ! -e touched ] && grep -q '^hint: with --show' err || fail "--show of a command that begins with another program"
"$memprof" objects -x evaltime=exec -c "sh -c 'echo >touched; exec $ruby ./short.rb'" >out 2>err; [ $? = 1 ] && [ ! -e touched ] && grep -q 'cannot be followed with -x evaltime=exec' err || fail "evaltime=exec"

"$memprof" objects -C --json -n 0 -x maxrate=10000000 $ruby --disable-gems test.rb >out 2>err || fail "created"
/usr/bin/python3 - <<'END' || fail "created: other numbers"
import json
rows = {(r["line"], r["class"]): r["count"] for r in map(json.loads, open("out")) if r["file"] == "test.rb"}
assert rows[10, "String"] == 1000 and rows[6, "String"] == 100 and rows[12, "String"] == 60000, rows
assert rows[11, "Other"] == 7, rows # a class of its own is no String
END

# the process counts by itself, and has the numbers that it has from the kernel
if [ "$(uname -m)" = x86_64 ] && "$memprof" objects --show -c "$ruby test.rb" | grep -q 'uregs\[R_R'; then
	cat >same.rb <<'END'
class Plain; def initialize(n); @n = n; end; end
$kept = []
200.times { |n| $kept << Plain.new(n) }
30.times { $kept << Plain.allocate }
40.times { $kept << $kept[0].dup << $kept[1].clone }
50.times { $kept << [1, 2] << {1 => 2} }
Marshal.load(Marshal.dump(Array.new(25) { Plain.new("m") })).each { |o| $kept << o }
4.times.map { |t| Thread.new { 25.times { |i| $kept << "thread #{t}" } } }.each(&:join)
eval "def in_eval() = 60.times { $kept << 'e'.dup }", nil, "made.rb", 70
in_eval
5000.times { Plain.new("garbage") }
END
	for how in auto off; do
		"$memprof" objects -v -C --json -n 0 -x inproc=$how -x maxrate=10000000 $ruby --disable-gems same.rb >$how.json 2>$how.err || fail "inproc=$how"
	done
	grep -q '[1-9][0-9]* places probed in process' auto.err && ! grep -q '[1-9][0-9]* places probed in process' off.err || fail "who has counted"
	/usr/bin/python3 - <<'END' || fail "other numbers in the process"
import json
auto, off = ({(r["file"], r["line"], r["class"]): r["count"] for r in map(json.loads, open(f)) if r["file"] in ("same.rb", "made.rb") and not r["class"].startswith("class ")} for f in ("auto.json", "off.json"))
assert auto == off, set(auto.items()) ^ set(off.items())
want = {("same.rb", 3, "Plain"): 200, ("same.rb", 4, "Plain"): 30, ("same.rb", 5, "Plain"): 40, ("same.rb", 7, "Plain"): 25, ("same.rb", 8, "String"): 100, ("made.rb", 70, "String"): 120, ("same.rb", 11, "Plain"): 5000}
assert want.items() <= auto.items(), auto
END
	"$memprof" objects -n 0 $ruby --disable-gems same.rb >out 2>err || fail "alive in the process"
	grep -qx '    200 same.rb:3:Plain' out && grep -qx '     30 same.rb:4:Plain' out && grep -qx '     40 same.rb:5:Plain' out || fail "alive in the process: other numbers"
fi

# names of the program's classes are read from the process, where no probe tells them
if [ "$(uname -m)" = x86_64 ] && "$memprof" objects --show -c "$ruby test.rb" | grep -q 'uregs\[R_R'; then
	cat >names.rb <<'END'
def await(what) = (sleep 0.02 until File.exist?(ARGV[0] + what))
def made(what) = File.write(ARGV[0] + what, "")
class Base; def initialize(n); @n = n; end; end
module Shop
  class Order < Base; end
  class Sale < Order; end
end
anonymous = Class.new(Base)
later = Class.new(Base)
$kept = []
await ""
300.times { |n| $kept << Shop::Order.new(n) }
20.times { |n| $kept << Shop::Sale.new(n) }
10.times { |n| $kept << anonymous.new(n) }
5.times { |n| $kept << Shop::Order.new(n).extend(Comparable) }
Late = Class.new(Shop::Order)
7.times { |n| $kept << Late.new(n) }
8.times { |n| $kept << later.new(n) }
$old = Array.new(300) { |n| Object.const_set("Old#{n}", Class.new(Base)).new(n) }
made ".made"
await ".go"
exit! if ARGV[1]
Later = later
$old = nil
300.times { |n| Object.send(:remove_const, "Old#{n}") }
4.times { GC.start }
300.times { |n| $kept << Object.const_set("New#{n}", Class.new(Base)).new(n) }
made ".done"
sleep 60
END
	cat >holder.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>
int main(int argc, char **argv) { return argc < 2 || ptrace(PTRACE_SEIZE, atoi(argv[1]), 0, 0) != 0 || !fopen("seized", "w") || pause(); }
END
	cc -o holder holder.c || fail "cc"
	named() {
		grep -qx '    300 names.rb:12:Shop::Order' out && grep -qx '     20 names.rb:13:Shop::Sale' out && grep -qx '     10 names.rb:14:class 0x[0-9a-f]*' out && grep -qx '      5 names.rb:15:Shop::Order' out && grep -qx '      7 names.rb:17:Late' out
	}
	renamed() { [ $(grep -c '^ *1 names.rb:27:New[0-9]*$' out) = 300 ] && ! grep -q 'names.rb:27:Old' out; }
	# asks for tables until one has what is wanted
	table() { for i in $(seq 300); do : >out; kill -USR1 $tracer || return 1; sleep 0.2; "$@" && return; done; return 1; }
	# starts the program and, with what follows, memprof; the objects are made when that has begun
	names_run() {
		rm -f named*
		$ruby --disable-gems names.rb "$TMP/named" $1 >/dev/null 2>&1 & names=$!
		trap 'kill $names 2>/dev/null' EXIT
		until grep -q libruby /proc/$names/maps || ! kill -0 $names; do sleep 0.02; done
		"$memprof" objects -v -n 0 -p $names >>out 2>err & tracer=$!
		for i in $(seq 300); do grep -q "^SigCgt:.*[2367abef]..$" /proc/$tracer/status && break; sleep 0.1; done
		table is_reported || fail "names of classes: no table"
	}
	is_made() { for i in $(seq 300); do [ -e named.$1 ] && return; sleep 0.1; done; return 1; }
	names_run
	# somebody else holds the process by ptrace(2), as a debugger does
	./holder $names & holder=$!
	for i in $(seq 100); do [ -e seized ] && break; sleep 0.1; done
	[ -e seized ] && touch named && is_made made && table named && grep -q ' names.rb:19:Old299$' out || fail "names of classes while another process traces it"
	kill $holder
	grep -qx '      8 names.rb:18:class 0x[0-9a-f]*' out || fail "a class has a name too early"
	touch named.go
	is_made done && table grep -qx '      8 names.rb:18:Later' out || fail "a name that came later"
	table renamed || fail "names of classes that are gone"
	: >out
	kill -TERM $tracer
	wait $tracer && named || fail "names of classes"
	kill $names
	# an emulated machine's time stamp counter is none that a process may read
	grep -q "itself, 0 by uprobes$\|time cannot be read in process" err || fail "names of classes cost probes in the kernel"
	grep -q "could not be read" err && fail "names are said to be missing"

	# one that ends at once, so that nobody holds it: they are read while it runs
	names_run ends
	touch named
	is_made made && table named || fail "names of classes of a process that will be gone"
	: >out
	touch named.go
	wait $tracer && named || fail "names of classes of a process that is gone"
	# they cannot be read while memprof does not run
	names_run ends
	kill -STOP $tracer
	touch named named.go
	wait $names
	: >out
	kill -CONT $tracer
	wait $tracer && grep -qx ' *20 .*:class 0x[0-9a-f]*' out && grep -q 'the names of [0-9]* classes could not be read: the process has ended$' err || fail "names that are missing"
fi

# one that runs already
$ruby --disable-gems test.rb "$TMP/go" >/dev/null 2>&1 & victim=$!
trap 'kill $victim 2>/dev/null' EXIT
until grep -q libruby /proc/$victim/maps || ! kill -0 $victim; do sleep 0.02; done
"$memprof" objects -p $victim >out 2>err & tracer=$!
# until it catches SIGUSR1
for i in $(seq 300); do grep -q "^SigCgt:.*[2367abef]..$" /proc/$tracer/status && break; sleep 0.1; done
for i in $(seq 100); do sleep 0.1; kill -USR1 $tracer || fail "-p: it has ended"; [ -e go ] || ! is_reported || touch go; grep -qx '   1000 test.rb:10:String' out && break; done
kill -TERM $tracer
wait $tracer || fail "-p"
grep -qx '   1000 test.rb:10:String' out && grep -qx '    100 test.rb:6:String' out || fail "-p: other numbers"

# Plain objects and hashes: no function frees them, so their memory is looked at. An object with methods of its own has a class of its own.
cat >plain.rb <<'END'
class Point; def initialize(x); @x = x; end; end
module Ext; end
$kept = []
sleep 0.1 until File.exist?(ARGV[0])
500.times { $kept << Point.new(1) }
20000.times { Point.new(2) }
30.times { $kept << Point.new(3).extend(Ext) }
40.times { $kept << $kept[0].dup }
6.times { $kept << {} }
20000.times { {1 => 2} }
4.times { GC.start }
File.write(ARGV[0] + ".made", "")
sleep 60
END
$ruby --disable-gems plain.rb "$TMP/start" >/dev/null 2>&1 & plain=$!
trap 'kill $victim $plain 2>/dev/null' EXIT
until grep -q libruby /proc/$plain/maps || ! kill -0 $plain; do sleep 0.02; done
"$memprof" objects -n 0 -p $plain >out 2>err & tracer=$!
for i in $(seq 300); do grep -q "^SigCgt:.*[2367abef]..$" /proc/$tracer/status && break; sleep 0.1; done
for i in $(seq 300); do sleep 0.1; [ -e start ] || { kill -USR1 $tracer && is_reported && touch start; }; [ -e start.made ] && break; done
sleep 1
kill -TERM $tracer
wait $tracer || fail "plain objects"
/usr/bin/python3 - <<'END' || fail "plain objects: other numbers"
import re
rows = {(int(line), name): int(n) for n, line, name in re.findall(r"^ *(\d+) plain\.rb:(\d+):(\w+)$", open("out").read(), re.M)}
assert [rows.get(k) for k in ((5, "Point"), (7, "Point"), (8, "Point"), (9, "Hash"))] == [500, 30, 40, 6], rows
assert rows.get((6, "Point"), 0) < 2000 and rows.get((10, "Hash"), 0) < 2000, rows # the stack may have a few, and slots that are not swept yet
gone = sum(int(n) for n in re.findall(r"(\d+) objects? of live\(\) (?:was|were) gone", open("err").read()))
assert gone > 1000, gone
END
kill $plain

# the name of a file that would be more than a name in a program
odd='l:malloc:entry,syscall:::entry,pid$target:l'
echo 'void *rb_ec_wb_protected_newobj_of(void *a, void *b) { return b; }' | cc -shared -fPIC -xc -o "$odd" - || fail "cc"
cat >opens.c <<'END2'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) { return argc > 1 && dlopen(argv[1], RTLD_NOW) && fopen("loaded", "w") ? sleep(argc > 2 ? 0 : 60) : 1; }
END2
cc -o opens opens.c || fail "cc"
timeout 60 "$memprof" objects -c "$TMP/opens '$TMP/$odd' ends" >out 2>err; [ $? = 1 ] || fail "an odd name of -c"
rm -f loaded
./opens "$TMP/$odd" & odd_pid=$!
trap 'kill $victim $odd_pid 2>/dev/null' EXIT
for i in $(seq 300); do [ -e loaded ] && break; sleep 0.1; done
timeout 60 "$memprof" objects -p $odd_pid -d 1 >out 2>err; [ $? = 1 ] && grep -q "odd names \(is\|are\) not followed" err && grep -q "has no Ruby" err || fail "an odd name"
kill $odd_pid

# functions that hand out slots are not read for ever: one of more than 16 KB is none of Ruby's
if [ "$(uname -m)" = x86_64 ]; then
	cat >large.s <<'END2'
	.globl rb_ec_wb_protected_newobj_of
	.type rb_ec_wb_protected_newobj_of, @function
rb_ec_wb_protected_newobj_of:
	.fill SIZE, 1, 0x90
	ret
	.size rb_ec_wb_protected_newobj_of, . - rb_ec_wb_protected_newobj_of
	movq $0x2001, (%rdx)
	movq %rbx, 8(%rdx)
	movq %rbx, %rdi
	movl $0x2001, %esi
	call rb_ec_wb_protected_newobj_of@plt
END2
	for f in ruby_run_node rb_obj_call_init_kw rb_obj_alloc ruby_sig_finalize; do
		printf '.globl %s\n.type %s, @function\n%s: ret\n.size %s, 1\n' $f $f $f $f >>large.s
	done
	for size in 16383 16384; do
		cc -shared -nostdlib -Wa,--defsym,SIZE=$size -o large$size.so large.s || fail "cc"
		rm -f loaded
		./opens "$TMP/large$size.so" & odd_pid=$!
		for i in $(seq 300); do [ -e loaded ] && break; sleep 0.1; done
		"$memprof" objects --show -p $odd_pid >out 2>err
		kill $odd_pid
		grep -q 'uregs\[R_R' out; [ $? = $((size == 16384)) ] || fail "a function of $((size + 1)) bytes"
	done
fi

# no Ruby
timeout 20 "$memprof" objects -c "/bin/sleep 1" >out 2>err; [ $? = 1 ] && grep -q "has no Ruby" err && grep -q "^hint: " err || fail "no Ruby"
"$memprof" objects --flame f.svg -c "/bin/sleep 1" >out 2>err; [ $? = 1 ] && [ ! -e f.svg ] || fail "--flame"
"$memprof" -C /bin/sleep 1 >out 2>err; [ $? = 2 ] || fail "-C without objects"
exit 0
