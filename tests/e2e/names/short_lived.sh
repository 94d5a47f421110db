# Hundreds of processes that live for a millisecond: every address has its name when they have ended.
# @@timeout: 120
. "$SRC/tests/e2e/names/lib.inc"
build "$TMP/n"
names_of n "i=0; while [ \$i -lt 400 ]; do $TMP/n; i=\$((i + 1)); done" | sort | uniq -c | sed 's/^ *//' | expect \
	'400 [vdso]`gettimeofday' '400 libc.so.6`getenv' '400 n`a_table+0x8' '400 n`exported' '400 n`getpid@plt' \
	'400 n`label+0x1' '400 n`show+0x1' '400 n`zeroes+0x10'
