# SPDX-License-Identifier: MIT
# A process of -c that waits for dtrace waits for nothing else: not when dtrace was killed, though the process has changed its user.
# @@needs: kernel
command -v setpriv >/dev/null || exit 67
cd "$TMP" || exit 1
mkfifo go || exit 1
cat >changes <<'X'
#!/bin/sh
exec setpriv --reuid=65534 --clear-groups sh -c 'echo ready $$; read -r go; exec echo has run'
X
chmod +x changes
seen() { # what, file: waits until it is there
	for _ in $(seq $((600 * PATIENCE))); do
		grep -q "$1" "$2" && return
		sleep 0.1
	done
	echo "no '$1' in $2:"
	cat "$2"
	exit 1
}

# a clause is about the process: it is stopped when it executes a program, until its probes are there
"$DTRACE" -q -n 'pid$target:libc.so.6:getppid:entry { n++; }' -c ./changes <>go >killed 2>&1 &
dtrace=$!
seen ready killed
target=$(awk '/^ready/ { print $2 }' killed)
kill -STOP $dtrace
echo go >go
seen '^State:.T' /proc/"$target"/status
kill -KILL $dtrace
seen 'has run' killed
echo 'dtrace was killed: the process has run on'
exit 0
