# Scripts as programs: #! line, -qs, arguments, -C with -D and -I, several programs sharing globals.
cat >"$TMP/hello.d" <<EOF
#!$DTRACE -qs
BEGIN { printf("%s %d %s\n", \$\$1, \$2, \$\$0); exit(0); }
EOF
chmod +x "$TMP/hello.d"
[ "$("$TMP/hello.d" hi 5)" = "hi 5 $TMP/hello.d" ] || { echo "#! script"; "$TMP/hello.d" hi 5; exit 1; }
echo '#define FROM_HEADER 20' >"$TMP/h.h"
cat >"$TMP/cpp.d" <<'EOF'
#!/usr/sbin/dtrace -Cs
#include <h.h>
#ifdef __linux
#define TWICE(x) ((x) * 2)
#endif
BEGIN { printf("%d %d\n", TWICE(FROM_HEADER), VALUE); exit(0); }
EOF
[ "$("$DTRACE" -q -C -I "$TMP" -D VALUE=3 -s "$TMP/cpp.d")" = "40 3" ] || { echo "-C"; "$DTRACE" -q -C -I "$TMP" -D VALUE=3 -s "$TMP/cpp.d"; exit 1; }
"$DTRACE" -s "$TMP/cpp.d" 2>&1 | grep -q 'needs -C\|-C' || { echo "no hint at -C"; exit 1; }
[ "$("$DTRACE" -qn 'BEGIN { x = 4; }' -n 'BEGIN { printf("%d\n", x); exit(0); }')" = "4" ] || { echo "shared globals"; exit 1; }
