# memprof: what is wrong with a command line, a program or a process is said in one line, with a hint in a second one.
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] || exit 67
cd "$TMP" || exit 1
nfailed=0
# says STATUS LINE COMMAND...: the first line of the messages, and nothing else but a hint
says() {
	want=$1 line=$2
	shift 2
	timeout 60 "$@" >out 2>err
	status=$?
	[ $status = "$want" ] && [ ! -s out ] && [ "$(head -1 err)" = "$line" ] && [ "$(sed 1d err | grep -vc '^hint: ')" = 0 ] && [ "$(wc -l <err)" -le 2 ] && return
	printf '%s: status %s, not %s\n' "$*" $status "$want"
	printf 'expected: %s\n' "$line"
	cat err out
	nfailed=$((nfailed + 1))
}
missing="exec: No such file or directory"
for way in "" malloc objects sample; do
	says 1 "memprof: cannot start '/nonexistent': $missing" "$memprof" $way /nonexistent
	says 1 "memprof: cannot start '/nonexistent': $missing" "$memprof" $way -c "/nonexistent 'a b'"
	says 1 "memprof: cannot start './a'b': $missing" "$memprof" $way "./a'b"
	says 1 "memprof: cannot start './\\033[1m\\n.': $missing" "$memprof" $way "$(printf './\033[1m\n.')"
	says 1 "memprof: -c: the ' in column 6 is not closed" "$memprof" $way -c "echo 'abc"
	says 1 "memprof: process 2 has no memory: it has ended, or is a thread of the kernel" "$memprof" $way -p 2
done
says 1 "memprof: cannot write '/nonexistent/x.svg': No such file or directory" "$memprof" --flame /nonexistent/x.svg /bin/true
for way in "" alive leaks; do
	says 1 "memprof: failed to set option from environment variable DTRACE_OPT_BUFSIZE: Invalid value for specified option" env DTRACE_OPT_BUFSIZE=zz "$memprof" $way -p $$
	grep -qx 'hint: a size is expected: 4096, 64k, 4m, 1g' err || { echo "$way: no hint"; cat err; nfailed=$((nfailed + 1)); }
done
says 2 "memprof: option requires an argument -- 'd'" "$memprof" malloc -d
says 2 "memprof: unrecognized option '--foo'" "$memprof" --foo
says 2 "memprof: -p: expected a number from 1 to 2147483647, not '0'" "$memprof" -p 0
says 2 "memprof: -d: expected a number from 0.001 to 1000000000, not 'x'" "$memprof" -d x
says 2 "memprof: -s: expected a whole number, not '1.5'" "$memprof" -s 1.5
for value in 0 -1 "" 5x 2000g 1kk 1.5k -p 18446744073709551617 "5 " k; do
	says 2 "memprof: -r: expected bytes from 1 to 1024g, as 512k, not '$value'" "$memprof" malloc -r "$value" /bin/true
done
for way in "" objects sample; do
	says 2 "memprof: -r is an option of 'memprof malloc'" "$memprof" $way -r 1k /bin/true
	says 2 "memprof: -o is an option of 'memprof malloc'" "$memprof" $way -o 1 /bin/true
done
for way in alive leaks; do
	says 2 "memprof: -r is no option of 'memprof $way', which looks at what is there" "$memprof" $way -r 1k -p $$
done
says 2 "memprof: there are both -p and a command: memprof is about one process" "$memprof" malloc -r 1k -p $$ /bin/true
# a picture that cannot be written is told before the program runs, and one that is there stays until there is another
says 1 "memprof: cannot write './': Is a directory" "$memprof" --flame ./ touch ran
[ ! -e ran ] || { echo "the command has run"; nfailed=$((nfailed + 1)); }
exit $((nfailed > 0))
