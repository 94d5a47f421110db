# Random programs in Python, Ruby, Perl, PHP, Lua, JavaScript and Java that replace their functions while they run: jstack() has the frames that the
# program notes, in 2,000 stacks of each, without a wrong name (names.py, which says how to run it at length).
# @@needs: kernel
exec /usr/bin/python3 "$SRC/tests/e2e/stack/names.py"
