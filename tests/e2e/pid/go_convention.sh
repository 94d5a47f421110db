# Arguments and results of functions of Go come from where Go's compiler puts them; without a Go compiler (golike.S).
# @@foreign
set -e
cd "$TMP"
bad=0
check() { # WHAT PROGRAM WANT DTRACE-ARGUMENT...
	what=$1 program=$2 want=$3
	shift 3
	got=$("$DTRACE" -q -c "$program" "$@" 2>&1) || true
	got=$(echo "$got" | sed '/^$/d')
	[ "$got" = "$want" ] || { echo "$what: got"; echo "$got"; echo "want"; echo "$want"; bad=1; }
}
refused() { # WHAT PROGRAM CLAUSE TEXT
	if "$DTRACE" -q -c "$2" -n "$3" >got 2>&1; then
		echo "$1: accepted"; cat got; bad=1
	elif ! grep -q "$4" got; then
		echo "$1:"; cat got; bad=1
	fi
}
go=$TRIGGER/golike

# a call that finds its stack too small begins anew: that is one entry
check 'raw arguments' "$go" '40 2 12 13 14 15 16 17 18 110
40 2 12 13 14 15 16 17 18 110
1' -n 'pid$target:a.out:main.add:entry { printf("%d %d %d %d %d %d %d %d %d %d\n", arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9); }
pid$target:a.out:main.greet:entry { n++; } END { printf("%d\n", n); }'
check 'results' "$go" '42 1
42 1' -n 'pid$target:a.out:main.add:return { printf("%d %d\n", arg1, args[0] == arg0); }'
check 'types' "$go" 'gopher 5 1 -7 and
gopher 3 gopher 6 3
1 gopher' -n 'pid$target:a.out:main.greet:entry {
	printf("%s %d %d %d %s\n", args[0], args[1], args[2], args[4]->x,
	    copyinstr((uintptr_t)args[4]->name.str, args[4]->name.len));
	name = args[0]; }
pid$target:a.out:main.greet:return { printf("%s %d %s %d %d\n", args[1], args[2], copyinstr(arg1, arg2), arg2, arg3); }
END { printf("%d %s\n", name == "gopher", name); }'
# a struct takes a register for each word, the last parameter found none
check 'structs' "$go" '1 gopher 4 9 110' -n 'pid$target:a.out:main.many:entry {
	printf("%d %s %d %d %d\n", arg0, copyinstr(arg1, arg2), args[1], args[6], args[7]); }'
refused 'a struct' "$go" 'pid$target:a.out:main.many:entry { trace(args[0]); }' 'it consists of 3 words, arg0 to arg2'
refused 'a float' "$go" 'pid$target:a.out:main.greet:entry { trace(args[3]); }' "is a 'float64', which is not in arg0 to arg9"
check 'what a function in assembly receives' "$go" '110 111' \
	-n 'pid$target:a.out:main.sum.abi0:entry { printf("%d %d\n", arg0, arg1); }'
refused 'what it returns' "$go" 'pid$target:a.out:main.sum.abi0:return { trace(arg1); }' 'return their results on the stack'
check 'functions of C beside them' "$go" '3 4' -n 'pid$target:a.out:golike_c:entry { printf("%d %d\n", arg0, arg1); }'
# one clause with all conventions
"$DTRACE" -q -c "$go" -n 'pid$target:a.out:main.*:entry,pid$target:a.out:golike_c:entry { printf("%s %d\n", probefunc, probefunc == "main.greet" ? arg1 : arg0); }' |
	sed '/^$/d' >got
cat >want <<'X2'
main.add 40
main.add 40
main.greet 6
main.many 1
main.sum.abi0 110
golike_c 3
X2
diff -u want got || bad=1
"$DTRACE" -q -c "$go" -n 'pid$target:a.out:main.greet:entry, pid$target:a.out:main.greet:return { ustack(2); }' | sed '/^$/d; s/+.*//; s/^ *//' >got
cat >want <<'X2'
golike`main.greet
golike`golike_call
golike`main.greet
golike`golike_call
X2
diff -u want got || bad=1

# without debug information: by the version alone
objcopy -g "$go" nodebug
check 'no debug information' ./nodebug '6 5 gopher' -n 'pid$target:a.out:main.greet:entry { printf("%d %d %s\n", arg1, (uint8_t)arg2, copyinstr(arg0, arg1)); }'

# an older compiler, one that says no version
info() { # VERSION
	printf '\377 Go buildinf:\010\002\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\010%s\000' "$1"
}
info go1.16.9 >info
objcopy --update-section .go.buildinfo=info "$go" old
check 'go1.16' ./old '110 111
110 111' -n 'pid$target:a.out:main.add:entry { printf("%d %d\n", arg0, arg1); }'
check 'types of go1.16' ./old '110 111
110 111' -n 'pid$target:a.out:main.add:entry { printf("%d %d\n", args[0], args[1]); }'
refused 'results of go1.16' ./old 'pid$target:a.out:main.add:return { trace(arg1); }' 'arg1 of .*main.add:return cannot be told'
refused 'typed results of go1.16' ./old 'pid$target:a.out:main.add:return { trace(args[1]); }' D_ARGS_TYPE
info 'devel 12' >info
objcopy --update-section .go.buildinfo=info "$go" devel
refused 'no version' ./devel 'pid$target:a.out:main.add:entry { trace(arg0); }' 'does not say which version of Go compiled it'
refused 'no version' ./devel 'pid$target:a.out:main.add:return { trace(arg1); }' 'does not say which version of Go compiled it'
check 'what is known all the same' ./devel '4' -n 'pid$target:a.out:main.add:entry { n++; } pid$target:a.out:main.add:return { n += arg0 > 0; } END { printf("%d\n", n); }'
# sizes and lengths that lie
for text in '\377' '\177long'; do
	# shellcheck disable=SC2059
	{ info x | head -c 32; printf "$text"; } >info
	objcopy --update-section .go.buildinfo=info "$go" lying 2>/dev/null
	refused "a length of $text" ./lying 'pid$target:a.out:main.add:entry { trace(arg0); }' 'does not say which version'
done
exit $bad
