# memprof alive: as many objects of each class as programs have made, in seven languages and C++, as the runtimes count them; what grows between copies.
# @@foreign
# @@timeout: 240
exec /usr/bin/python3 "$SRC/tests/e2e/memprof/alive.py"
