# Every option of d-language.md 8.2 and 8.3: takes a good value, refuses a bad one with the reason (8.1).
cd "$TMP" || exit 1
fail() { echo "$1"; exit 1; }
good() { # -x option=value...: compiles with them
	out=$($DTRACE "$@" -qen BEGIN 2>&1) || fail "$*: $out"
}
bad() { # option value text hint
	out=$($DTRACE -x "$1${2:+=$2}" -qen BEGIN 2>&1) && fail "$1=$2 is accepted"
	case $out in
	"dtrace: failed to set -x $1: $3
"*"hint: $4"* | "dtrace: failed to set -x $1: $3${4:+
hint: $4}"*) ;;
	*) fail "$1=$2: $out" ;;
	esac
}
invalid="Invalid value for specified option"

# what --help lists is accepted, by kind; good values of all options together
on= off= zero= values=
$DTRACE --help=options | sed -n '/^Options/,/^$/p' | sed '1d;$d' >options
while read -r name kind rest; do
	case $name:$kind in
	*:flag) on="$on -x $name" off="$off -x $name=off" zero="$zero -x $name=0"; bad "$name" maybe "$invalid" ;;
	iregs:*) values="$values -x $name=4"; bad "$name" 9 "$invalid" "'iregs' lies between 1 and 8" ;;
	helpertrace:*) ;; # it runs no program (e2e/stack/replayed)
	pstack:*) ;; # neither does this one (e2e/stack/pstack)
	cpu:*) values="$values -x $name=0" ;;
	*:number) values="$values -x $name=7"; bad "$name" x "$invalid" "a number is expected" ;;
	*:size) values="$values -x $name=8k"; bad "$name" 8q "$invalid" "a size is expected" ;;
	*:rate) values="$values -x $name=10hz"; bad "$name" 10parsec "$invalid" "a rate is expected" ;;
	*:enum) # the hint of a bad value lists the good ones
		bad "$name" nosuch "$invalid" "one of: "
		case $name in
		bufpolicy) all="switch, fill, ring" ;;
		bufresize) all="auto, manual" ;;
		encoding) all="ascii, utf8" ;;
		evaltime) all="exec, preinit, postinit, main" ;;
		linkmode) all="kernel, dynamic, static" ;;
		stdc) all="a, c, s, t" ;;
		*) all= ;;
		esac
		listed=${out##*hint: one of: }
		case $listed in "${all:-$listed}"*) ;; *) fail "$name: $listed" ;; esac
		for value in $(echo "$listed" | tr -d ,); do good -x "$name=$value"; done ;;
	version:*) good -x "$name=1.2.2"; bad "$name" 1.x "Version is not properly formatted or is too large"
		bad "$name" 9.9 "Requested version is not supported by compiler" ;;
	privileges:*) bad "$name" dtrace_none "option privileges: 'dtrace_none' is no level of privilege" ;;
	amin:*) values="$values -x $name=Private/Private/Unknown"; bad "$name" private "$invalid" ;;
	setenv:*) values="$values -x $name=A=b"; bad "$name" A "$invalid" ;;
	ctypes:* | dtypes:*) values="$values -x $name=types" ;;
	syslibdir:* | libdir:*) values="$values -x $name=$SRC/dlib" ;;
	*:string) values="$values -x $name=text"; bad "$name" "" "$invalid" "a text is expected" ;;
	*) fail "option $name has no known kind: $kind $rest" ;;
	esac
done <options
[ "$(wc -l <options)" -gt 80 ] || fail "--help lists too few options"
for all in "$on" "$off" "$zero" "$values"; do
	# shellcheck disable=SC2086
	good $all
done

bad nosuch "" "Invalid option name"
bad strsiz 8 "Invalid option name" "did you mean 'strsize'?"
bad grabanon "" "Not supported on Linux" "there is no anonymous tracing"
bad zone global "Not supported on Linux" "zones are of illumos"
bad strsize 0 "$invalid" "'strsize' lies between 1 and 1048576"
$DTRACE -x version=1.2 -x version=1.5 -qen BEGIN 2>&1 |
	grep -q "failed to set -x version: Requested version conflicts with earlier setting" || fail "version raised"

# in a program: the same, but for what is forbidden there
pragma() { # text expected
	printf '#pragma D option %s\nBEGIN { exit(0); }\n' "$1" >p.d
	$DTRACE -qs p.d 2>&1 | grep -qF "$2" || fail "#pragma D option $1: $($DTRACE -qs p.d 2>&1)"
}
for o in define=A undef=A incdir=/tmp cppargs=-P cpphdrs cpppath=/bin/cpp stdc=a ctfpath=x ldpath=x modpath=x procfspath=x lockmem=1; do
	pragma "$o" "Option cannot be used from within a D program"
done
pragma nosuch "Invalid option name"
pragma bufsize=1q "$invalid"
pragma strsize=16 ""
[ "$(DTRACE_OPT_STRSIZE=12 $DTRACE -qn 'BEGIN { printf("%d", sizeof(execname)); exit(0); }')" = 12 ] || fail environment
[ "$(DTRACE_OPT_STRSIZE=12 $DTRACE -x strsize=13 -qn 'BEGIN { printf("%d", sizeof(execname)); exit(0); }')" = 13 ] || fail "-x over environment"
DTRACE_OPT_STRSIZE=x $DTRACE -qn BEGIN 2>&1 |
	grep -q "failed to set option from environment variable DTRACE_OPT_STRSIZE: $invalid" || fail "bad environment"
DTRACE_OPT_STRSIZE=x $DTRACE -qn BEGIN 2>/dev/null && fail "bad environment: status"

# what goes on inside
$DTRACE -x debug -x syslibdir="$SRC/dlib" -qn 'BEGIN { trace(curpsinfo->pr_pid); exit(0); }' 2>debug >/dev/null || fail "debug"
for what in "D library file .*procfs.d': compiled" 'program: 1 clause$' "BPF program 'fathom_begin': [0-9]* instructions, 1 probe,"; do
	grep -q "^libdtrace DEBUG [0-9]*: .*$what" debug || fail "debug: $what: $(cat debug)"
done
DTRACE_DEBUG=1 $DTRACE -qen BEGIN 2>&1 | grep -q '^libdtrace DEBUG' || fail "DTRACE_DEBUG"
listing() { $DTRACE -S -x disasm="$1" -qn 'BEGIN { trace(pid); exit(0); }' 2>&1 >/dev/null | grep -cE '^(DIFO|entry:)'; }
[ "$(listing 0) $(listing 1) $(listing 8) $(listing 9)" = "0 2 1 3" ] || fail "disasm: $(listing 0) $(listing 1) $(listing 8) $(listing 9)"
$DTRACE -x bpflog -qn 'BEGIN { exit(0); }' 2>&1 | grep -q '^processed [0-9]* insns' || fail bpflog
exit 0
