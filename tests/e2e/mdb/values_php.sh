# mdb shows the values, variables and objects of a PHP program as the program itself knows them: of a process, and of core files of it.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/values_php.py"
