# A speculation that has no room for a record ends the clause: nothing of what follows speculate() is done.
bad=0
run() { # what is printed, what goes to stderr, arguments
	text=$1; err=$2; shift 2
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q "$@" >"$TMP/out" 2>"$TMP/err" || { echo "$*: status"; bad=1; }
	[ "$(grep . "$TMP/out" | paste -sd ' ')" = "$text" ] || { echo "$*: printed"; cat "$TMP/out"; bad=1; }
	[ "$(grep -v ^hint: "$TMP/err" | paste -sd ' ')" = "$err" ] || { echo "$*: said"; cat "$TMP/err"; bad=1; }
}
once='BEGIN { s = speculation(); flag = 0; }
	BEGIN { speculate(s); printf("Lots of data\n"); printf("has to be crammed into this buffer\n"); flag++; }
	BEGIN /flag/ { commit(s); }
	BEGIN { printf("flag %d\n", flag); exit(0); }'
run 'Lots of data has to be crammed into this buffer flag 1' '' -n "$once"
run 'flag 0' 'dtrace: 1 speculative drop' -x specsize=8 -n "$once"
run 'flag 0' 'dtrace: 1 speculative drop' -x specsize=0 -n "$once"
# Room for some records of a clause; each other speculation has its own.
some='BEGIN { a = speculation(); b = speculation(); na = 0; nb = 0; }'
for i in 1 2 3 4 5 6 7 8; do
	some="$some BEGIN { speculate(a); printf(\"a%d\n\", $i); na++; }"
done
some="$some BEGIN { speculate(b); printf(\"b\n\"); nb++; } BEGIN { commit(b); commit(a); } BEGIN { printf(\"%d %d\n\", na, nb); exit(0); }"
run 'b a1 a2 a3 3 1' 'dtrace: 5 speculative drops' -x nspec=2 -x specsize=120 -x cpu=0 -n "$some"
# What counts is the largest record that the clause could make, but one fits as long as nothing is there.
strings='BEGIN { s = speculation(); n = 0; } BEGIN { speculate(s); printf("%s\n", strjoin("sho", "rt")); n++; }
	BEGIN { speculate(s); printf("%s\n", strjoin("sho", "rt")); n++; } BEGIN { commit(s); } BEGIN { printf("%d\n", n); exit(0); }'
run 'short 1' 'dtrace: 1 speculative drop' -x specsize=200 -n "$strings"
run 'short short 2' '' -x specsize=400 -n "$strings"
# An id that is given out again is empty.
again='BEGIN { s = speculation(); } BEGIN { speculate(s); printf("no\n"); } BEGIN { discard(s); } BEGIN { s = speculation(); }
	BEGIN { speculate(s); printf("yes\n"); } BEGIN { commit(s); } BEGIN { s = speculation(); } BEGIN { speculate(s); printf("yes\n"); }
	BEGIN { commit(s); } BEGIN { exit(0); }'
run 'yes yes' '' -x specsize=48 -n "$again"
# A branch that does not speculate is no part of it.
branch='BEGIN { s = speculation(); n = 0; } BEGIN { if (n) { speculate(s); printf("no\n"); } else { printf("plain\n"); } n++; }
	BEGIN { if (n) { speculate(s); printf("kept\n"); n++; } else { printf("no\n"); } } BEGIN { commit(s); } BEGIN { printf("%d\n", n); exit(0); }'
run 'plain kept 2' '' -x specsize=64 -n "$branch"
# Several commit() and discard() in one clause.
several='BEGIN { a = speculation(); b = speculation(); c = speculation(); d = speculation(); }
	BEGIN { speculate(a); printf("a\n"); } BEGIN { speculate(b); printf("b\n"); } BEGIN { speculate(c); printf("c\n"); }
	BEGIN { speculate(d); printf("d\n"); } BEGIN { commit(c); discard(b); commit(a); commit(a); discard(d); discard(c); }
	BEGIN { printf("%d\n", speculation()); exit(0); }'
run 'c a 1' '' -x nspec=4 -n "$several"
exit $bad
