# args[] of pid probes have the types that the debug information says, whichever form that has.
# @@foreign
command -v cc >/dev/null || exit 67
set -e
cd "$TMP"
cat >script.d <<'X'
pid$target:a.out:take:entry
{
	printf("%s %d %d %s\n", stringof(args[0]->name), args[1], args[3], stringof(args[4]));
	printf("%s %d %d\n", stringof(args[0]->next->name), args[0]->next->at.y, args[0]->at.x);
	printf("%d %d %d %d %d\n", args[0]->flag, args[0]->level, args[0]->signed_bits, args[0]->color, args[0]->anon_int);
	printf("%s %d %d\n", args[0]->text, args[0]->table[1][2], args[0]->hidden == NULL);
	it = args[0];
}
pid$target:a.out:take:return { printf("%s %d\n", stringof(it->name), args[1]); it = 0; }
pid$target:a.out:mixed:entry { printf("%d %s %d %d\n", args[1], stringof(args[4]), args[5], args[6]); }
pid$target:a.out:large:entry { printf("%d\n", args[0]); }
pid$target:a.out:hidden:entry { printf("%d\n", args[1]->x); }
pid$target:a.out:get:return { printf("%d %s\n", args[0] > 0, stringof(args[1]->name)); }
X
cat >want <<'X'
first -5 200 str
second 4 -1
1 17 -3 5 7
hello 6 1
first -6
-7 chars 55 66
11
1 second
8
X
check() { # WHAT [OPTION...]
	what=$1
	shift
	"$DTRACE" -q "$@" -c ./typed -s script.d >got 2>&1 || true
	sed -i '/^$/d' got
	diff -u want got || { echo "$what"; exit 1; }
}

src=$SRC/tests/e2e/pid/typed.c
for how in "-gdwarf-5 -gz" "-gdwarf-2 -gstrict-dwarf" "-gdwarf-4 -fdebug-types-section -no-pie"; do
	# shellcheck disable=SC2086
	cc -O1 $how -o typed "$src"
	check "$how"
done
if command -v clang >/dev/null; then
	clang -O1 -g -o typed "$src" 2>/dev/null
	check clang
fi
cc -O1 -g -Wl,--build-id=sha1 -o typed "$src"
cp typed full
objcopy --only-keep-debug full typed.debug
strip -g typed
objcopy --add-gnu-debuglink=typed.debug typed
check "debug link"
id=$(readelf -n typed | sed -n 's/.*Build ID: //p')
mkdir -p "store/.build-id/$(echo "$id" | cut -c 1-2)"
mv typed.debug "store/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-).debug"
check "build-id" -x debugdir="$TMP/store"

# what is shared by several debug files is in another one
if command -v dwz >/dev/null; then
	cp full other
	cp full typed
	dwz -m common.debug typed other
	check "dwz"
fi

# a definition in another unit, the first one only declares it
printf 'struct opaque { int inside; };\nstruct opaque an_opaque = {77};\n' >opaque.c
cc -O1 -g -c opaque.c
cc -O1 -g -c -o typed.o "$src"
cc -o typed typed.o opaque.o
"$DTRACE" -q -c ./typed -n 'pid$target:a.out:take:entry { printf("%d\n", sizeof(*args[0]->hidden)); }' | grep -qx 4

# types are the program's, not the kernel's of the same name, and other clauses do not see them
"$DTRACE" -q -c ./typed -n 'pid$target:a.out:take:entry { trace(args[0]->at.x); } BEGIN { trace(((struct item *)0)->at); }' 2>&1 |
	grep -q 'struct item'

# what a probe cannot see, and a program that says nothing of itself
! "$DTRACE" -q -c ./typed -n 'pid$target:a.out:take:entry { trace(args[2]); }' 2>err
grep -q "args\[2\] of pid[0-9]*:a.out:take:entry is a 'double', which is not in arg0 to arg9" err
! "$DTRACE" -q -c ./typed -n 'pid$target:a.out:mixed:entry { trace(args[0]); }' 2>err
grep -q "is a 'struct big'" err
cc -O1 -o typed "$src"
! "$DTRACE" -q -c ./typed -n 'pid$target:a.out:take:entry { trace(args[0]); }' 2>err
grep -q 'arg0 to arg9 are the raw ones' err

# C++
command -v g++ >/dev/null || exit 0
g++ -O1 -g -o typed "$SRC/tests/e2e/pid/typed.cc"
"$DTRACE" -q -c ./typed -n 'pid$target:a.out:*method*:entry { printf("%d %d %d\n", args[0]->id, args[1]->id, args[3]);
	printf("%s\n", stringof(args[2]->_M_dataplus._M_p)); }' >got 2>&1
printf '7 8 -9\na text that is longer than what fits inside\n\n' | diff -u - got
