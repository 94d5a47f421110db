# Names of C++ and Rust, as written and as linked.
# @@foreign
. "$SRC/tests/e2e/names/lib.inc"
build "$TMP/n" -DSTATIC -static
names_of n "$TMP/n mangled" | tail -n 3 | expect \
	'n`space::class<7>::method(char const*, std::vector<int, std::allocator<int> >&)' \
	'n`core::fmt::Formatter::write_str' 'n`foo::bar'
names_of n "$TMP/n mangled" -x demangle=off | tail -n 3 | expect 'n`_ZN5space5classILi7EE6methodEPKcRSt6vectorIiSaIiEE' \
	'n`_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE' 'n`_RNvCskwGfYPst2Cb_3foo3bar'
