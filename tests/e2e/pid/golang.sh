# Arguments, results, entries and stacks of what a real Go compiler makes; go_convention.sh has the rest.
# @@foreign
command -v go >/dev/null || exit 67
case $(go version) in *"go1.1"[0-6]*) exit 67 ;; esac
set -e
cd "$TMP"
export GOCACHE="$TMP/cache" GO111MODULE=off GOFLAGS= GOTOOLCHAIN=local CGO_ENABLED=0
cp "$SRC/tests/e2e/pid/golang.go" shop.go
cat >script.d <<'X'
pid$target:a.out:main.add:entry { printf("%d %d\n", arg0, args[1]); }
pid$target:a.out:main.add:return { printf("%d %d\n", arg1, args[1]); }
pid$target:a.out:main.greet:entry { printf("%s %d %d\n", args[0], args[1], args[2]); }
pid$target:a.out:main.greet:return { printf("%s %s\n", args[1], copyinstr(arg1, arg2)); }
pid$target:a.out:main.*Cart*.Total:entry {
	printf("%d %s %d %d\n", args[0]->Owner->ID, copyinstr((uintptr_t)args[0]->Owner->Name.str, args[0]->Owner->Name.len),
	    args[2], args[0]->Items.len); }
pid$target:a.out:main.*Cart*.Total:return { printf("%d %d\n", args[1], arg2 != 0); }
pid$target:a.out:main.many:entry { printf("%d %d %d\n", args[0], args[8], args[9]); }
pid$target:a.out:main.byvalue:entry { printf("%s %d %d %d %d\n", copyinstr(arg0, arg1), arg2, (short)arg4, arg6, args[4]); }
pid$target:a.out:main.deep:entry { @entries = count(); }
pid$target:a.out:main.deep:return { @returns = count(); }
END { printa("%@d %@d\n", @entries, @returns); }
X
cat >want <<'X'
40 2
42 42
bob 2 1
bob!!? bob!!?
42 ann 7 2
34 0
1 9 10
apple 3 5 9 77
8036 8036
X
for how in "" "-gcflags=-N" "-buildmode=pie"; do
	go build $how -o shop shop.go
	"$DTRACE" -q -c ./shop -s script.d 2>&1 >got.all | cat >&2
	grep -v '^$\|^out: ' got.all >got
	diff -u want got || { echo "go build $how"; exit 1; }
	grep -q '^out: 4016$' got.all || { echo "go build $how: the program went wrong"; cat got.all; exit 1; }
done
# all of its functions at once, while goroutines grow and move their stacks
"$DTRACE" -q -c ./shop -n 'pid$target:a.out::entry,pid$target:a.out::return { @ = count(); }' >got 2>err || true
# a kernel older than 6.6 refuses so many
if grep -q 'lacks BPF links to many uprobes at once (Linux 6.6): at most 512' err; then
	"$DTRACE" -q -c ./shop -n 'pid$target:a.out:main.*:entry,pid$target:a.out:main.*:return { @ = count(); }' >got
else
	cat err >&2
fi
grep -q '^out: 4016$' got || { echo 'with all functions probed:'; cat got; exit 1; }
# stacks of goroutines
"$DTRACE" -q -c ./shop -n 'pid$target:a.out:main.many:entry,pid$target:a.out:main.many:return { ustack(); }' |
	sed -n 's/^ *shop`\([a-zA-Z.]*\).*/\1/p' >got
printf 'main.many\nmain.main\nruntime.main\nruntime.goexit\nmain.many\nmain.main\nruntime.main\nruntime.goexit\n' >want
sed 's/goexit.abi0/goexit/; s/goexit\.abi$/goexit/' got | diff -u want -
