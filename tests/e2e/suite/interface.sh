# The interface of the libraries only grows: what tests/interface.py says of a header that has grown, and of one that breaks
# programs; what the libraries export is what debian/*.symbols and the record have.
set -e
command -v clang >/dev/null || { echo "needs the package clang"; exit 67; }
fail() { echo "$*"; cat "$TMP/got"; exit 1; }
mkdir "$TMP/tree" && cd "$TMP/tree"
mkdir -p include lib/usdt tests
cp "$SRC"/include/dtrace*.* include
cp "$SRC/lib/usdt/usdt.h" lib/usdt
cp -r "$SRC/tests/interface" tests
check() { python3 "$SRC/tests/lints.py" --root . interface >"$TMP/got" 2>&1 && status=0 || status=$?; }
faults() { # WHAT IS SAID... of the header as it is now, and of nothing else
	check
	[ $status = 1 ] && [ "$(wc -l <"$TMP/got")" = $# ] || fail "wanted: $*"
	for said; do grep -qF "$said" "$TMP/got" || fail "not said: $said"; done
	cp "$SRC/include/dtrace.h" include
}
check
[ $status = 0 ] && [ ! -s "$TMP/got" ] || fail "the header as it is"
sed -i 's/^int dtrace_stop(.*/int dtrace_halt(dtrace_hdl_t *dtp);/' include/dtrace.h
faults "'function dtrace_stop' is gone" "'function dtrace_halt int (dtrace_hdl_t *)' is new"
sed -i 's/^int dtrace_stop(dtrace_hdl_t \*dtp)/int dtrace_stop(dtrace_hdl_t *dtp, int how)/' include/dtrace.h
faults "'function dtrace_stop int (dtrace_hdl_t *)' is now 'function dtrace_stop int (dtrace_hdl_t *, int)'"
sed -i 's/^\tint dts_has_file_addr;/&\n\tint dts_line;/' include/dtrace.h
faults "'member dtrace_syminfo_t.dts_line 36 4 int' is new"
sed -i 's/^\tuint64_t dts_file_addr;/\tint dts_line;\n&/' include/dtrace.h
faults "dts_file_addr 24 8 uint64_t' is now" "dts_has_file_addr 32 4 int' is now" "'member dtrace_syminfo_t.dts_line 24 4 int' is new"
sed -i 's/^\tuint32_t dtd_nframes;/&\n\tuint64_t dtd_new;/' include/dtrace.h
faults "'fixed dtrace_datum_t 64' is now 'fixed dtrace_datum_t 72'" "'member dtrace_datum_t.dtd_new 64 8 uint64_t' is new"
sed -i 's/^\tDTRACEFLOW_RETURN,/\tDTRACEFLOW_NEW,\n&/' include/dtrace.h
faults "'value DTRACEFLOW_NEW 1' is new" "'value DTRACEFLOW_RETURN 1' is now" "'value DTRACEFLOW_NONE 2' is now"
sed -i '/^EDT(VERSION/d' include/dtrace_errors.def
check
[ $status = 1 ] && grep -q "'value EDT_VERSION' is gone" "$TMP/got" && grep -q "'value EDT_[A-Z]* 10[0-9]*' is now" "$TMP/got" || fail "error codes"

[ -z "$SANITIZED" ] || { echo "skip: a library with sanitizers exports more"; exit 0; }
for library in libdtrace:libdtrace1:src/cmd/dtrace libusdt:libusdt0:lib/usdt; do
	name=${library%%:*} folder=${library##*:} package=${library#*:}
	package=${package%:*}
	nm -D --defined-only "$BUILD/$folder/$name.so" | awk '$2 ~ /[A-Z]/ { print $3 }' | sort >"$TMP/exported"
	sed -n 's/^ \([a-z_0-9]*\)@Base .*/\1/p' "$SRC/debian/$package.symbols" | sort | diff - "$TMP/exported" >"$TMP/got" ||
		fail "debian/$package.symbols (<) is not what $name exports (>)"
	sed -n 's/^function \([a-z_0-9]*\) .*/\1/p' "$SRC/tests/interface/$name" | sort | diff - "$TMP/exported" >"$TMP/got" ||
		fail "tests/interface/$name (<) is not what $name exports (>)"
done
