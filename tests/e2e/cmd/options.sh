# Every option of d-language.md 8.2 and 8.3: takes a good value, refuses a bad one with the reason (8.1).
# @@timeout: 300
cd "$TMP" || exit 1
fail() { echo "$1"; exit 1; }
good() { # option value: compiles with it
	$DTRACE -x "$1${2:+=$2}" -qen BEGIN >out 2>&1 || fail "$1=$2: $(cat out)"
}
bad() { # option value text
	$DTRACE -x "$1${2:+=$2}" -qen BEGIN >out 2>&1 && fail "$1=$2 is accepted"
	head -1 out | grep -qxF "dtrace: failed to set -x $1: $3" || fail "$1=$2: $(cat out)"
	[ -z "$4" ] || grep -qF "hint: $4" out || fail "$1=$2, hint: $(cat out)"
}
invalid="Invalid value for specified option"

# what --help lists is accepted, by kind
$DTRACE --help | sed -n '/^Options/,/^$/p' | sed '1d;$d' | while read -r name kind rest; do
	case $name:$kind in
	*:flag) good "$name" && good "$name" off && good "$name" 0 && bad "$name" maybe "$invalid" ;;
	iregs:*) good "$name" 4; bad "$name" 9 "$invalid" "'iregs' lies between 1 and 8" ;;
	cpu:*) good "$name" 0 ;;
	*:number) good "$name" 7; bad "$name" x "$invalid" "a number is expected" ;;
	*:size) good "$name" 8k; bad "$name" 8q "$invalid" "a size is expected" ;;
	*:rate) good "$name" 10hz; bad "$name" 10parsec "$invalid" "a rate is expected" ;;
	*:enum) # the hint of a bad value lists the good ones
		bad "$name" nosuch "$invalid" "one of: "
		for value in $(sed -n 's/^hint: one of: //p' out | tr -d ,); do good "$name" "$value"; done
		case $name in
		bufpolicy) bad "$name" x "$invalid" "one of: switch, fill, ring" ;;
		bufresize) bad "$name" x "$invalid" "one of: auto, manual" ;;
		encoding) bad "$name" x "$invalid" "one of: ascii, utf8" ;;
		evaltime) bad "$name" x "$invalid" "one of: exec, preinit, postinit, main" ;;
		linkmode) bad "$name" x "$invalid" "one of: kernel, dynamic, static" ;;
		stdc) bad "$name" x "$invalid" "one of: a, c, s, t" ;;
		esac ;;
	version:*) good "$name" 1.2.2; bad "$name" 1.x "Version is not properly formatted or is too large"
		bad "$name" 9.9 "Requested version is not supported by compiler" ;;
	amin:*) good "$name" Private/Private/Unknown; bad "$name" private "$invalid" ;;
	setenv:*) good "$name" A=b; bad "$name" A "$invalid" ;;
	ctypes:* | dtypes:*) good "$name" types ;;
	syslibdir:* | libdir:*) good "$name" "$SRC/dlib" ;;
	*:string) good "$name" text; bad "$name" "" "$invalid" "a text is expected" ;;
	*) fail "option $name has no known kind: $kind $rest" ;;
	esac || exit 1
done || exit 1
[ "$($DTRACE --help | sed -n '/^Options/,/^$/p' | wc -l)" -gt 80 ] || fail "--help lists too few options"

bad nosuch "" "Invalid option name"
bad strsiz 8 "Invalid option name" "did you mean 'strsize'?"
bad grabanon "" "Not supported on Linux" "there is no anonymous tracing"
bad zone global "Not supported on Linux" "zones are of illumos"
bad strsize 4 "$invalid" "'strsize' lies between 8 and 65536"
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
exit 0
