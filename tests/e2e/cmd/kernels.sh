# doc/kernels.md is what the declarations of the library say, and what they say is what this kernel has.
cd "$SRC" || exit 1
python3 tools/kernels --check || exit 1
case $(uname -r) in
6.1.*) kernel=6.1 ;;
6.12.*) kernel=6.12 ;;
6.18.*) kernel=6.18; [ -e /sys/bus/event_source/devices/kprobe ] && exit 0 ;; # the page is about one without kprobes
*) exit 0 ;;
esac
# the page has what a module brings
modprobe nfsd 2>/dev/null
python3 tools/kernels --list >"$TMP/all"
python3 tools/kernels --list $kernel | LC_ALL=C sort -u >"$TMP/want"
[ "$(grep -c . "$TMP/want")" -gt 100 ] || { echo "the list is short"; exit 1; }
"$DTRACE" -l | awk 'NR == FNR { declared[$0] = 1; next } ($2 " " $NF) in declared { print $2, $NF }' "$TMP/all" - | LC_ALL=C sort -u | diff "$TMP/want" - || {
	echo "tools/kernels and dtrace disagree about this kernel"; exit 1; }
