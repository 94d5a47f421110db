# SPDX-License-Identifier: MIT
# PHP 8.2: it has no tests of its probes.
needs gcc make autoconf pkg-config
source_of php8.2
quiet ./buildconf --force
quiet ./configure --enable-dtrace --disable-all --disable-cgi --disable-phpdbg "CPPFLAGS=-I$SDT"
quiet make -j2 cli
cat >"$work/t.php" <<'EOF'
<?php
function inner($n) { return $n + 1; }
class C { static function m($x) { return inner($x); } }
C::m(3);
try { throw new RuntimeException("oops"); } catch (Exception $e) { }
EOF
export USE_ZEND_DTRACE=1
# The probe 'error' does not fire, because PHP forgets its function before the first error; and exception-caught has the
# address of a zend_string, whose text is behind a head of 24 bytes.
traced "entry main  4
entry m C 3
entry inner  2
return inner 2
thrown RuntimeException
caught RuntimeException
compile t.php
startup t.php" '
php$target:::function-entry { printf("entry %s %s %d\n", copyinstr(arg0), copyinstr(arg3), arg2); }
php$target:::function-return { printf("return %s %d\n", copyinstr(arg0), arg2); }
php$target:::exception-thrown { printf("thrown %s\n", copyinstr(arg0)); }
php$target:::exception-caught { printf("caught %s\n", copyinstr(arg0 + 24)); }
php$target:::compile-file-entry { printf("compile %s\n", basename(copyinstr(arg0))); }
php$target:::request-startup { printf("startup %s\n", basename(copyinstr(arg0))); }' "sapi/cli/php $work/t.php"
