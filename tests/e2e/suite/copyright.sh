# debian/copyright names what is linked into the programs and libraries of the packages: which files of which static libraries the
# linker takes, beside those of this build and of gcc. What is linked is not run.
set -e
[ -z "$SANITIZED" ] || { echo "a build with sanitizers links their libraries"; exit 67; }
command -v ninja >/dev/null || { echo "needs the package ninja-build"; exit 67; }
fail() { echo "$*"; cat "$TMP/got"; exit 1; }
cd "$BUILD"
members() { # MAP: the members that stand in its first paragraph, which ends where the map goes on
	sed -n '/^Archive member included/,/^\(Discarded\|Memory\|As-needed\|There are\)/s/^\(\/[^ (]*\.a\)(\([^)]*\)).*/\1 \2/p' "$1" | while read -r archive member; do
		case $(realpath "$archive") in
		"$(realpath "$BUILD")"/* | */libgcc.a | */libgcc_eh.a | */libc_nonshared.a) ;;
		*) echo "$(basename "$archive")($member)" ;;
		esac
	done
}
found=
for target in src/cmd/dtrace/libdtrace.so src/cmd/dtrace/dtrace src/cmd/metrics/fathom-metrics lib/usdt/libusdt.so; do
	[ -e "$target" ] || { echo "skip: $target is not built"; continue; }
	target=$(realpath --relative-to=. "$target")
	ninja -t commands "$target" | tail -n 1 | sed "s| -o $target | -o '$TMP/linked' -Wl,-Map='$TMP/map' |" >"$TMP/command"
	grep -q -- "-Map=" "$TMP/command" || fail "how $target is linked is not understood: $(cat "$TMP/command")"
	sh "$TMP/command" >"$TMP/got" 2>&1 || fail "$target cannot be linked again"
	members "$TMP/map" >>"$TMP/members"
	found=1
done
[ -n "$found" ] || exit 67
sort -u "$TMP/members" >"$TMP/linked.txt"
sed -n 's/^ Linked-in: \([^ ]*\) .*/\1/p' "$SRC/debian/copyright" | sort | diff - "$TMP/linked.txt" >"$TMP/got" ||
	fail "debian/copyright (<) is not what is linked in (>): name the file and its licence there"
# each licence that is named has its text
sed -n 's/^ Linked-in: [^ ]* //p; s/^License: \(.*\) and \(.*\)/\1\n\2/p' "$SRC/debian/copyright" | sort -u | while read -r licence; do
	grep -A1 "^License: $licence\$" "$SRC/debian/copyright" | grep -q '^ ' || { echo "$licence has no text in debian/copyright"; exit 1; }
done
