# mdb shows the values, variables and objects of a Ruby program as the program itself knows them: Ruby 2.7 to 3.3, each that is installed, or RUBY.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/values_ruby.py"
