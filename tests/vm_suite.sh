# Inside tools/vm: runs tests without Python and prints 'N passed, N failed, N skipped'. $1: part of the names to run.
# DTRACE, BUILD, SRC, TRIGGER and TMP come from the VM.
only=${1:-} passed=0 failed=0 skipped=0
export LC_ALL=C DTRACE_OPT_SYSLIBDIR="$SRC/dlib"
base=$TMP
echo "vm-suite-begin"
echo "Linux $(uname -r)"

tell() { # result, name
	case $1 in pass) passed=$((passed + 1)) ;; fail) failed=$((failed + 1)) ;; skip) skipped=$((skipped + 1)) ;; esac
	[ "$1" = pass ] || echo "$1 $2"
}

directive() { sed -n "s|.*@@$1: *\\(.*\\)|\\1|p" "$2" | sed 's| *\*/.*||' | head -n 1; }

run_tap() { # name, program
	"$2" >"$base/tap" 2>"$base/err"
	status=$?
	n=$(grep -c '^ok ' "$base/tap") bad=$(grep -c '^not ok ' "$base/tap")
	[ $status = 0 ] || [ "$bad" != 0 ] || bad=1
	passed=$((passed + n)) failed=$((failed + bad))
	[ "$bad" = 0 ] || { echo "fail $1"; grep -v '^ok ' "$base/tap" | tail -n 20; tail -n 5 "$base/err"; }
}

run_d() { # name, script
	opts=$(directive runtest-opts "$2") trigger=$(directive trigger "$2") args=$(directive args "$2")
	want=$(directive exit "$2")
	case ${2##*/} in err.*) want=${want:-1} ;; *) want=${want:-0} ;; esac
	set -- "$1" "$2" "${2%.d}"
	# shellcheck disable=SC2086
	if [ -n "$trigger" ]; then
		timeout 60 "$DTRACE" $opts -c "$TRIGGER/$trigger" -s "$2" $args >"$base/out" 2>"$base/err" </dev/null
	else
		timeout 60 "$DTRACE" $opts -s "$2" $args >"$base/out" 2>"$base/err" </dev/null
	fi
	status=$?
	grep -v "^dtrace: \(script\|description\) '.*' matched " "$base/err" >"$base/err2"
	bad=
	[ $status = "$want" ] || bad="status $status, expected $want"
	[ ! -f "$3.out" ] || "$TRIGGER/outmatch" "$3.out" "$base/out" || bad="$bad; output differs"
	[ ! -f "$3.err" ] || "$TRIGGER/outmatch" "$3.err" "$base/err2" || bad="$bad; messages differ"
	[ -n "$bad" ] || { tell pass "$1"; return; }
	tell fail "$1: $bad"
	head -n 30 "$base/out" | sed 's/^/    |/'
	head -n 10 "$base/err" | sed 's/^/    !/'
}

run_sh() { # name, script
	grep -q 'python3\|-q*C \|cpp\|unshare\|su nobody\|gcc ' "$2" && { tell skip "$1"; return; }
	TMP=$base/t
	rm -rf "$TMP"
	mkdir -p "$TMP"
	export TMP
	timeout 300 sh "$2" >"$base/out" 2>&1 </dev/null
	status=$?
	TMP=$base
	case $status in
	0) tell pass "$1" ;;
	67) tell skip "$1" ;;
	*) tell fail "$1: status $status"; head -n 20 "$base/out" | sed 's/^/    !/' ;;
	esac
}

for exe in "$BUILD"/tests/unit/unit_bpf_* "$BUILD"/tests/unit/unit_agg_* "$BUILD"/tests/unit/unit_session_* "$BUILD"/tests/prop/*; do
	name=${exe##*/}
	case $name in *"$only"*) [ -x "$exe" ] && [ -f "$exe" ] && run_tap "$name" "$exe" ;; esac
done
for script in $(find tests/e2e -name '*.d' -o -name '*.sh' | sort); do
	name=${script#tests/}
	case $name in *"$only"*) ;; *) continue ;; esac
	case $name in
	*.d) run_d "$name" "$script" ;;
	*.sh) run_sh "$name" "$script" ;;
	esac
done
echo "$passed passed, $failed failed, $skipped skipped"
