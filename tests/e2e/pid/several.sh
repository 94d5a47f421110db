# Several processes of -p and -c: pid* in a description means all of them, $target the first.
bad=0
mkfifo "$TMP/in1" "$TMP/in2" "$TMP/out1" "$TMP/out2"
"$TRIGGER/funcs" 3 wait <"$TMP/in1" >"$TMP/out1" & a=$!
"$TRIGGER/funcs" 5 wait <"$TMP/in2" >"$TMP/out2" & b=$!
exec 3>"$TMP/in1" 4>"$TMP/in2" 5<"$TMP/out1" 6<"$TMP/out2"
read -r _ <&5; read -r _ <&6
expect() { # what, got, wanted
	[ "$2" = "$3" ] || { echo "$1: '$2' instead of '$3'"; cat "$TMP/err"; bad=1; }
}
expect 'a list' "$("$DTRACE" -ln 'pid*:a.out:f_add:entry' -p $a -p $b 2>"$TMP/err" | awk 'NR > 1 { print $2 }' | tr '\n' ' ')" "pid$a pid$b "
expect 'a narrower pattern' "$("$DTRACE" -ln 'pid*['${b#"${b%?}"}']:a.out:f_add:entry' -p $a -p $b 2>"$TMP/err" | awk 'NR > 1 { print $2 }' | grep -cx "pid$b")" 1
# one of them has no such function, which is no error
expect 'in one of them' "$("$DTRACE" -ln 'pid*::f_add:entry' -p $a -p $$ 2>"$TMP/err" | awk 'NR > 1 { print $2 }')" "pid$a"
# each has its own probes, by its number and by the pattern; the run ends when the last one has
mkfifo "$TMP/trace"
"$DTRACE" -qn 'pid*:a.out:f_add:entry { @[probeprov, pid, "*"] = count(); } pid'$b':a.out:f_add:entry { @[probeprov, pid, "number"] = count(); }
	pid$target:a.out:f_add:entry { @[probeprov, pid, "target"] = count(); } BEGIN { printf("on\n"); }
	tick-20ms /!i++/ { printf("%d\n", $target); } END { printa("%s %d %s %@d\n", @); }' -p $a -p $b >"$TMP/trace" 2>"$TMP/err" 3>&- 4>&- & d=$!
exec 7<"$TMP/trace"
read -r on <&7; read -r target <&7
expect '$target' "$on $target" "on $a"
echo >&3; echo >&4
exec 3>&-; wait $a || { echo "the first ended with $?"; bad=1; }
kill -0 $d 2>/dev/null || { echo 'the run ended with the first process'; bad=1; }
exec 4>&-; wait $b || { echo "the second ended with $?"; bad=1; }
expect counts "$(sort <&7 | grep .)" "$(printf '%s\n' "pid$a $a * 5" "pid$a $a target 5" "pid$b $b * 9" "pid$b $b number 9" | sort)"
wait $d || { echo "dtrace ended with $?"; bad=1; }
# what $target is, is said when it matters
said() { grep -c "\$target is process [0-9]*, the first of the 2 of -c and -p; the provider pid\* in a probe description means all of them" "$TMP/err"; }
"$DTRACE" -n 'BEGIN { trace($target); }' -c true -c true >/dev/null 2>"$TMP/err"
expect 'two processes and $target' "$(said)" 1
"$DTRACE" -n 'BEGIN { trace(1); }' -c true -c true >/dev/null 2>"$TMP/err"
expect 'two processes' "$(said)" 0
"$DTRACE" -n 'BEGIN { trace($target); }' -c true >/dev/null 2>"$TMP/err"
expect 'one process' "$(grep -c 'the first of' "$TMP/err")" 0
# libraries that come to any of them
"$DTRACE" -Zqn 'pid*:liblate.so:late_f:entry { @[pid == $target ? "first" : "second"] = count(); } END { printa("%s %@d\n", @); }' \
	-c "$TRIGGER/late open call=3" -c "$TRIGGER/late open call=4" >"$TMP/out" 2>"$TMP/err"
expect 'a library' "$(sort "$TMP/out" | grep . | tr '\n' ' ')" 'first 3 second 4 '
# without processes it is explained
"$DTRACE" -n 'pid*:a.out:f_add:entry' >"$TMP/out" 2>"$TMP/err" && { echo 'no processes: no error'; bad=1; }
grep -q "'pid\*' stands for the processes of -c and -p: give at least one" "$TMP/err" || { echo 'no processes:'; cat "$TMP/err"; bad=1; }
exit $bad
