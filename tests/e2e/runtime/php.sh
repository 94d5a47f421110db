# The provider php of a stock php: calls, requests and exceptions of a script.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
php=/usr/bin/php8.2
[ -x $php ] || { echo "no $php (package php8.2-cli)"; exit 67; }
cat >t.php <<'END'
<?php
class A { static function s($x) { return $x; } function m() { return 1; } }
function fib($n) { return $n < 2 ? $n : fib($n-1) + fib($n-2); }
fib(5); A::s(1); (new A)->m();
try { throw new RuntimeException("x"); } catch (Exception $e) {}
END
cat >t.d <<'END'
#pragma D option quiet
php$target:::function-entry, php$target:::function-return
/arg0/
{
	@[probename, copyinstr(arg0), arg1 ? basename(copyinstr(arg1)) : "-", arg2,
	  arg3 ? copyinstr(arg3) : "", arg4 ? copyinstr(arg4) : ""] = count();
}
php$target:::request-startup, php$target:::request-shutdown, php$target:::compile-file-entry
{
	printf("%s %s\n", probename, basename(copyinstr(arg0)));
}
php$target:::exception-thrown { printf("%s %s\n", probename, copyinstr(arg0)); }
END { printa("%s %s %s:%d %s%s %@d\n", @); }
END
USE_ZEND_DTRACE=1 "$DTRACE" -s t.d -c "$php -n t.php" >out 2>err || fail "t.php"
grep -vE '^(PHP )?Warning|^$' out | sort >got
sort >want <<'END'
compile-file-entry t.php
exception-thrown RuntimeException
function-entry fib t.php:3  15
function-entry m t.php:2 A:: 1
function-entry main t.php:4  1
function-entry s t.php:2 A:: 1
function-return fib t.php:3  15
function-return m t.php:2 A:: 1
function-return main t.php:4  1
function-return s t.php:2 A:: 1
request-shutdown t.php
request-startup t.php
END
diff -b want got || fail "other calls than the script makes"
exit 0
