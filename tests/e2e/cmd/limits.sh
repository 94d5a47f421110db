# Sizes nobody should meet: 500 clauses, 64 self variables, 30 printf arguments, deep and long expressions, nested ifs.
gen() { awk -v n="$1" "BEGIN { $2 }" >"$TMP/p.d"; }
expect() { got=$("$DTRACE" -q -s "$TMP/p.d" 2>&1); [ "$got" = "$2" ] || { echo "$1: $got"; exit 1; }; }
gen 500 'print "int x; BEGIN { x = 0; }"; for (i = 1; i <= n; i++) print "BEGIN { x += " i "; }"; print "BEGIN { printf(\"%d\", x); exit(0); }"'
expect "500 clauses" 125250
gen 64 'print "BEGIN {"; for (i = 0; i < n; i++) print "self->v" i " = " i ";"; print "} BEGIN { printf(\"%d\", 0"; for (i = 0; i < n; i++) print " + self->v" i; print "); exit(0); }"'
expect "64 thread-local variables" 2016
gen 100 'print "BEGIN {"; for (i = 0; i < n; i++) print "this->v" i " = " i "; g" i " = \"s" i "\";"; print "} BEGIN { printf(\"%d %s %s\", this->v99 + this->v1, g0, g99); exit(0); }"'
expect "100 clause-local and 100 string variables" "100 s0 s99"
awk 'BEGIN { f = a = ""; for (i = 0; i < 30; i++) { f = f "%d "; a = a ", x + " i; } print "BEGIN { x = 1; printf(\"" f "\"" a "); exit(0); }" }' >"$TMP/p.d"
expect "30 printf arguments" "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 "
awk 'BEGIN { e = "x"; for (i = 0; i < 200; i++) e = "(" e " + " i ")"; print "BEGIN { x = 1; printf(\"%d\", " e "); exit(0); }" }' >"$TMP/p.d"
expect "200 levels to the left" 19901
awk 'BEGIN { e = "x"; for (i = 0; i < 200; i++) e = "(" i " + " e ")"; print "BEGIN { x = 1; printf(\"%d\", " e "); exit(0); }" }' >"$TMP/p.d"
expect "200 levels to the right" 19901
awk 'function tree(d) { return d ? "(" tree(d - 1) " + " tree(d - 1) " * 3)" : "x" } BEGIN { print "BEGIN { x = 1; printf(\"%d\", " tree(8) "); exit(0); }" }' >"$TMP/p.d"
expect "a balanced tree of 256 loads" 65536
awk 'BEGIN { e = "-1"; for (i = 0; i < 100; i++) e = "(x == " i " ? " i * 2 " : " e ")"; print "BEGIN { x = 50; printf(\"%d\", " e "); exit(0); }" }' >"$TMP/p.d"
expect "100 nested ?:" 100
awk 'BEGIN { print "BEGIN { x = 5000; }\nBEGIN /x == 0"; for (i = 1; i < 500; i++) print " || x == " i; print "|| x == 5000/ { printf(\"yes\"); exit(0); }" }' >"$TMP/p.d"
expect "a predicate of 500 comparisons" yes
awk 'BEGIN { b = "x += 1000;"; for (i = 29; i >= 0; i--) b = "if (x == " i ") { x++; " b " } else { x += 500; }"; print "int x; BEGIN { x = 0; " b " printf(\"%d\", x); exit(0); }" }' >"$TMP/p.d"
expect "30 nested ifs" 1030
awk 'BEGIN { s = "\"a\""; for (i = 0; i < 20; i++) s = "strjoin(" s ", lltostr(" i "))"; print "BEGIN { printf(\"%s\", " s "); exit(0); }" }' >"$TMP/p.d"
expect "20 nested strjoin()" a012345678910111213141516171819
awk 'BEGIN { for (i = 0; i < 300; i++) print "syscall:::entry /execname == \"x" i "\" && arg0 > " i "/ { @a[execname, probefunc, " i "] = count(); self->t" i % 10 " = timestamp; printf(\"%s %d\\n\", execname, arg" i % 6 "); }"; print "BEGIN { printf(\"up\"); exit(0); }" }' >"$TMP/p.d"
expect "300 clauses at every system call" up
