# Names of others reach a terminal without what it would obey, wherever they are shown: functions, files, listings,
# messages.
exe=$TMP/$(printf 'f\033[2Jx')
python3 - "$TRIGGER/funcs" "$exe" <<'END' || exit 1
import os, sys
with open(sys.argv[1], "rb") as f:
    image = f.read()
# as long as what they stand in place of
image = image.replace(b"\0f_ends\0", b"\0\x1b[31mx\0").replace(b"\0f_pair\0", b"\0\xc2\x9b3Jyx\0")
with open(sys.argv[2], "wb") as f:
    f.write(image)
os.chmod(sys.argv[2], 0o755)
END
"$DTRACE" -n 'pid$target:a.out:?*x:entry { @[probemod, probefunc, ustack(1)] = count(); }' -c "$exe" >"$TMP/out" 2>&1
"$DTRACE" -ln 'pid$target:a.out:?*x:entry' -c "$exe" >>"$TMP/out" 2>&1
"$DTRACE" -n 'pid$target:nothere::entry' -c "$exe" >>"$TMP/out" 2>&1
grep -q '?\[31mx' "$TMP/out" && grep -q '??3Jyx' "$TMP/out" && grep -q 'f?\[2Jx' "$TMP/out" || { cat -v "$TMP/out"; exit 1; }
if LC_ALL=C grep -n "$(printf '\033')\|$(printf '\302\233')" "$TMP/out"; then exit 1; fi
