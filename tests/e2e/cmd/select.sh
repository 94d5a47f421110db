# -n -f -m -P -i, as programs and with -l: which probes each names, how fields are read, what is refused.
q() { "$DTRACE" "$@" 2>&1; }
expect() { want=$1; shift; got=$("$@"); [ "$got" = "$want" ] || { echo "$*: '$got', expected '$want'"; exit 1; }; }
names() { "$DTRACE" -l "$@" 2>&1 | awk 'NR > 1 { print $2 ":" $(NF - 1) ":" $NF }' | tr '\n' ' '; }
expect 'syscall:read:entry syscall:read:return ' names -f read
expect 'syscall:read:entry syscall:read:return ' names -f syscall:vmlinux:read
expect 'syscall:read:entry syscall:write:return ' names -n syscall::read:entry -n syscall::write:return
expect 'syscall:read:entry syscall:write:entry ' names -n 'syscall::read:entry,syscall::write:entry { trace(1); }'
expect 'syscall:read:entry syscall:read:return ' names -n 'sys*::[r]ea?:'
expect 'syscall:openat:entry ' names -n 'syscall::open[a-b]t:entry'
expect 'syscall:write:entry ' names -i "$("$DTRACE" -ln syscall::write:entry | awk 'NR == 2 { print $1 }')"
expect 'dtrace:dtrace:BEGIN dtrace:dtrace:END dtrace:dtrace:ERROR ' names -P dtrace
[ "$(names -m vmlinux | tr ' ' '\n' | grep -c '^syscall:')" = "$(names -P syscall | wc -w)" ] || { echo "-m vmlinux"; exit 1; }
expect 'by id' q -q -i '1 { printf("by id"); exit(0); }'
expect 'BEGIN END ' q -q -P 'dtrace { printf("%s ", probename); exit(0); }'
expect 'entry return ' q -q -f 'getppid /pid == $target/ { printf("%s ", probename); }' -c "$TRIGGER/calls getppid 1"
expect '7' q -q -n 'BEGIN { x = 3; }' -n 'BEGIN { y = x + 1; }' -n 'BEGIN { printf("%d", x + y); exit(0); }'
for spec in '-P a:b' '-m a:b:c' '-f a:b:c:d' '-n a:b:c:d:e'; do
	q $spec | grep -q 'Overspecified probe description' || { echo "$spec accepted"; exit 1; }
done
q -i 99999 | grep -q 'invalid probe identifier 99999' || { echo "-i 99999"; exit 1; }
# the notice counts every probe of every clause, on stderr, without the body
"$DTRACE" -n 'BEGIN,END { exit(0); } BEGIN { }' 2>&1 >/dev/null | grep -qx "dtrace: description 'BEGIN,END ' matched 3 probes" || { echo "notice"; exit 1; }
"$DTRACE" -qn 'BEGIN { exit(0); }' 2>&1 >/dev/null | grep . && { echo "a notice in quiet mode"; exit 1; }
"$DTRACE" -Zn 'syscall::nosuch:entry' -n 'BEGIN { exit(4); }' >"$TMP/out" 2>&1
[ $? = 4 ] && grep -q 'matched 0 probes' "$TMP/out" || { echo "-Z"; cat "$TMP/out"; exit 1; }
