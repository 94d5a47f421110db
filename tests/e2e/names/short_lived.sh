# Hundreds of processes that live for a millisecond: every address has its name when they have ended.
# @@foreign
. "$SRC/tests/e2e/names/lib.inc"
build "$TMP/n"
names_of n "i=0; while [ \$i -lt 200 ]; do $TMP/n; i=\$((i + 1)); done" | sort | uniq -c | sed 's/^ *//' | expect \
	'200 [vdso]`gettimeofday' '200 libc.so.6`getenv' '200 n`a_table+0x8' '200 n`exported' '200 n`getpid@plt' \
	'200 n`label+0x1' '200 n`show+0x1' '200 n`zeroes+0x10'
