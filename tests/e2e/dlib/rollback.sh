# A library file that completes a forward declaration and is then given up leaves the declaration as it was: the next
# definition gets its own size, and so do arrays of it.
mkdir "$TMP/lib"
echo 'struct blk;' >"$TMP/lib/a.d"
printf '#pragma D depends_on module nosuch\nstruct blk { string a; };\nstruct two { struct blk b[2]; };\n' >"$TMP/lib/b.d"
echo 'struct blk { string a; string b; int c; };' >"$TMP/lib/c.d"
"$DTRACE" -L "$TMP/lib" -qn 'BEGIN { printf("%d %d", sizeof (struct blk), sizeof (struct blk [2])); exit(0); }' >"$TMP/out" 2>&1
grep -q '^516 1032$' "$TMP/out" || { cat "$TMP/out"; exit 1; }
# The size of strings comes after the declarations that have them.
"$DTRACE" -L "$TMP/lib" -x strsize=100 -qn 'BEGIN { printf("%d %d", sizeof (struct blk), sizeof (struct blk [2])); exit(0); }' >"$TMP/out" 2>&1
grep -q '^204 408$' "$TMP/out" || { cat "$TMP/out"; exit 1; }
