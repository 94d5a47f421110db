# -l: header, ids 1-3, system calls, by description, on-demand probes, unmatched descriptions.
"$DTRACE" -l >"$TMP/all" || exit 1
head -n 4 "$TMP/all" >"$TMP/head"
cat >"$TMP/want" <<'EOF'
   ID   PROVIDER            MODULE                          FUNCTION NAME
    1     dtrace                                                     BEGIN
    2     dtrace                                                     END
    3     dtrace                                                     ERROR
EOF
diff "$TMP/want" "$TMP/head" || exit 1
n=$(grep -c ' syscall .* entry$' "$TMP/all")
[ "$n" -ge 300 ] || { echo "$n system calls listed"; exit 1; }
[ "$(grep -c ' profile  *profile-\| profile  *tick-' "$TMP/all")" = 13 ] || { echo "profile probes"; exit 1; }
"$DTRACE" -l -n 'syscall::open*:entry' | awk 'NR > 1 && $4 !~ /^open/ { bad = 1 } END { exit bad || NR < 3 }' || { echo "glob"; exit 1; }
"$DTRACE" -l -n 'tick-7s' | grep -q ' tick-7s$' || { echo "on-demand probe"; exit 1; }
"$DTRACE" -l -P syscall -m vmlinux -f read | grep -q 'read return' || { echo "-P -m -f"; exit 1; }
"$DTRACE" -ln 'nosuch:::x' 2>"$TMP/err"
grep -qx 'dtrace: failed to match nosuch:::x: No probe matches description' "$TMP/err" || { cat "$TMP/err"; exit 1; }
"$DTRACE" -lvn BEGIN | grep -q 'Argument Types' || { echo "-lv"; exit 1; }
