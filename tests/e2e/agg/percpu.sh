# Option aggpercpu: after each value what each CPU has, which add up to it; clear() takes that off, too.
out=$($DTRACE -x aggpercpu -c "$TRIGGER/calls getppid 20" -qn '
	syscall::getppid:entry /pid == $target/ { @c = count(); @k[probefunc] = sum(2); @m = max(7); @q = quantize(1); }
	END { @d = count(); clear(@d); }
') || exit 1
printf '%s\n' "$out"
printf '%s\n' "$out" | awk '
	/^ +20$/ { whole = 1; next }
	/^ +getppid/ { if ($2 != 40) exit 2; keyed = 1; next }
	/^    \[CPU [0-9]+\]  +[0-9]+$/ { if (!keyed) n += $3; else if (!max) k += $3; cpus++ }
	/^ +7$/ { max = 1 }
	/^    \[CPU [0-9]+\]$/ { hist++ }
	END { exit !(whole && n == 20 && k == 40 && max && cpus >= 3 && hist >= 1) }
'
