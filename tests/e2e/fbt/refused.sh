# Where the kernel has no kprobes, what is missing is said once, with what answers the same question; nothing is listed.
export FATHOM_NO_FEATURE=KPROBE,KPROBE_MULTI
bad=0
for args in "-n fbt:::entry" "-n fbt::vfs_read:return" "-l -P fbt" "-ln fbt::vfs_read:entry"; do
	out=$("$DTRACE" $args 2>&1) && { echo "accepted: $args"; bad=1; }
	for want in "functions of this kernel cannot be traced: it has neither kprobes as perf events (CONFIG_KPROBES) nor BPF links to many kernel functions at once (CONFIG_FPROBE)" \
		"hint: dtrace -l -P rawtp and -P sdt list the kernel's tracepoints; profile-997 with stack()"; do
		case $out in *"$want"*) ;; *) echo "no '$want' for: $args"; echo "$out"; bad=1 ;; esac
	done
done
out=$("$DTRACE" -l 2>&1) || { echo "dtrace -l fails"; bad=1; }
case $out in *" fbt "*) echo "functions are listed"; bad=1 ;; esac
# a probe that is made of functions says the same
out=$("$DTRACE" -n 'provider mine { probe opened() = fbt::vfs_open:entry (); }; mine:::opened { exit(0); }' 2>&1) && { echo "accepted: mine:::opened"; bad=1; }
case $out in *"what mine:::opened is made of is not here: fbt::vfs_open:entry: "*"cannot be traced"*) ;; *) echo "$out"; bad=1 ;; esac
exit $bad
