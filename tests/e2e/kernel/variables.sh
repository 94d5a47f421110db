# Variables of the kernel that BTF does not know: their types are the library's, or the script's.
grep -qw jiffies /proc/kallsyms || { echo "this kernel does not list its variables"; exit 67; }
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cat >"$TMP/v.d" <<'END'
#pragma D option quiet
extern unsigned int nr_cpu_ids;
BEGIN
{
	this->before = `jiffies;
	printf("%d %d %d\n", `jiffies_64 - this->before < 1000, this->before > 0, `init_task.pid);
	printf("%s|%s\n", `init_task.comm, `init_uts_ns.name.nodename);
	printf("%d %d %s\n", `nr_cpu_ids == nr_cpu_ids, `avenrun[0] >= 0, substr(`linux_banner, 0, 13));
	jiffies = 1;            /* the library takes no names of scripts */
	printf("%d %d\n", jiffies, &`init_task == `init_task.group_leader);
	exit(0);
}
END
"$DTRACE" -s "$TMP/v.d" >"$TMP/out" 2>"$TMP/err" || fail "status"
{
	echo "1 1 0"
	echo "swapper/0|$(hostname)"
	echo "1 1 Linux version"
	echo "1 1"
	echo
} | diff - "$TMP/out" || fail "output"
# a variable that nobody knows
sym=$(awk '$2 == "b" && NF == 3 && $3 !~ /[.]/ && $3 !~ /^__/ { print $3 }' /proc/kallsyms | sed -n 500p)
[ -n "$sym" ] || exit 0
"$DTRACE" -qen "BEGIN { trace(\`$sym); }" 2>"$TMP/err" && fail "no type of $sym"
grep -q D_SYM_NOTYPES "$TMP/err" || fail "no D_SYM_NOTYPES"
"$DTRACE" -qen "extern int $sym; BEGIN { trace(\`$sym); }" 2>"$TMP/err" || fail "the type of $sym"
exit 0
