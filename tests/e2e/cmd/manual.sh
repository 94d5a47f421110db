# The manual page has every flag of the command, every provider, and every option, variable and function that --help lists;
# it says that an option has no effect where --help does, and nowhere else.
man=$SRC/doc/dtrace.8
cd "$TMP" || exit 1
$DTRACE >usage 2>&1
$DTRACE --help=all >help
{
	grep -oE '\[-[a-zA-Z]+' usage | tr -d '[-' | grep -o . | sed 's/^/flag /'
	awk '
		/^[A-Z].*:$/ { part = $1; next }
		part == "Options" && NF { print "option " $1 }
		part != "Options" && part != "Flags:" && /^  / {
			line = $0
			if (part == "Built-in") sub(/   .*/, "", line); else sub(/\(.*/, "", line)
			sub(/\[\]/, "", line)
			sub(/.*[ *]/, "", line)
			if (line !~ /^arg[1-8]$/) print "name " line
		}' help
	$DTRACE -l | awk 'NR > 1 && $2 !~ /[0-9]$/ { print "provider " $2 }' # those of running programs end in their numbers
	echo provider pid
	sed -n 's/^  \([a-z]*\) .*; no effect here$/ignored \1/p' help
} | sort -u >wanted
{
	grep -oE '^\.B[RI]* .*' "$man" | grep -oE '\\-[a-zA-Z]( |"|$)' | grep -oE '[a-zA-Z]' | sed 's/^/flag /'
	sed -n 's/^\.BR \([a-z]*\) ".*/option \1/p; s/.*\\fB\([a-z_0-9]*\)\\fR.*/name \1/p' "$man"
	sed -n '/^\.SH PROVIDERS/,/^\.SH FLAGS/s/^\.BI* \([a-z]*\).*/provider \1/p' "$man"
	sed -n '/^\.SS Accepted without/,/^\.S[SH]/s/^\.BR \([a-z]*\) ".*/ignored \1/p' "$man"
} | sort -u >there
[ "$(wc -l <wanted)" -gt 150 ] || { echo "too little in --help"; cat wanted; exit 1; }
comm -23 wanted there >missing
grep '^ignored' there | comm -23 - wanted | sed 's/$/, which has an effect/' >>missing
[ -s missing ] && { echo "not in doc/dtrace.8, or not so:"; cat missing; exit 1; }

# Each page of the guide is a manual page that apropos(1) can find, and the manual pages that dtrace(8) names are there.
if command -v lowdown >/dev/null; then
	for page in "$SRC"/doc/guide/*.md; do
		name=dtrace-$(basename "$page" .md)
		[ -s "$BUILD/doc/$name.7" ] || { echo "there is no $name(7): doc/meson.build"; exit 1; }
		grep -q "^$name - ." "$BUILD/doc/$name.7" || grep -q "^$name \\- ." "$BUILD/doc/$name.7" || { echo "$name(7) has no title"; exit 1; }
		# a character that the locale C lacks is left out by man(1)
		! grep -Hn '\\\[u[0-9A-F]*\]' "$BUILD/doc/$name.7" || { echo "$name(7) has a character by its number"; exit 1; }
	done
	for name in $(sed -n 's/^\.BR \(dtrace-[a-z-]*\) (7).*/\1/p' "$man"); do
		[ -s "$BUILD/doc/$name.7" ] || { echo "dtrace(8) names $name(7), which is not there"; exit 1; }
	done
fi

# Hints name pages that man(1) finds, and not files of the tree.
for args in "-n BEGIN{stack();}" "-x bpflog=on -n BEGIN"; do
	# shellcheck disable=SC2086
	"$DTRACE" -x privileges=nobody:dtrace_user -e $args >out 2>&1 && { echo "dtrace_user is enough: $args"; exit 1; }
	grep -q '^ *hint: dtrace-levels(7) says' out || { echo "$args: no hint at a manual page"; cat out; exit 1; }
done
exit 0
