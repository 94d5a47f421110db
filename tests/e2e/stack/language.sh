# lfile, lline, lfunc and lstack(): for each runtime, the innermost frame of the language that jstack() shows, as values, in predicates and in
# keys, and its frames without the native ones (language.py).
# @@foreign
command -v cc >/dev/null || exit 67
exec python3 "$SRC/tests/e2e/stack/language.py"
