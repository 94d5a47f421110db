# Strings of any size from 1 byte, which has room for the NUL alone, to a million.
cat >"$TMP/all.d" <<'EOF'
string d[int], a[string];
self string self_s;
BEGIN
{
	this->ip = (ipaddr_t *)alloca(4); *this->ip = 0x0100007f;
	x = "0123456789abcdefghij"; this->y = strjoin(x, "zz"); self->self_s = execname; d[1] = toupper("upper");
	printf("[%s][%s][%s][%s][%s]", x, this->y, self->self_s, d[1], probename);
	printf("[%s][%s][%s][%s]", basename("/a/bc"), dirname("/a/bc"), cleanpath("/./a"), cleanpath("a/.."));
	printf("[%s][%s][%s]", lltostr(-12345), substr("abc", 1), strtok("one two", " "));
	printf("[%s][%s][%s]", inet_ntoa(this->ip), json("{\"a\": \"text\"}", "a"), strchr("abc", 'b'));
	printf("[%s][%s]\n", tolower("ABC"), (string)alloca(8));
	printf("%d %d %d %d\n", strlen(x), index("abc", "c"), rindex("abcabc", "bc"), x == "0123456789abcdefghij");
	a[x] = "value"; a["0"] = "zero"; @[x, execname, probename, this->y] = count(); @s["lit"] = sum(strlen(a[x]));
	printf("%d %d %s\n", sizeof(x), sizeof(string), a["0"]);
	print(d[1]); trace(x); 
}
BEGIN { printf("[%s]\n", strtok(NULL, " ")); exit(strlen(strjoin("ab", "cd"))); }
END { printa("%s %s %s %s %@d\n", @); printa("%s %@d\n", @s); }
EOF
for size in 1 2 3 4 5 7 8 9 64 65536 65537 131072 1m; do
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -b 32m -x dynvarsize=64m -x aggsize=64m -x strsize=$size -s "$TMP/all.d" >"$TMP/out" 2>"$TMP/err"
	status=$?
	[ -s "$TMP/err" ] && { echo "strsize $size"; cat "$TMP/err"; exit 1; }
	case $size in 1) want=0 ;; 2) want=1 ;; 3) want=2 ;; 4) want=3 ;; *) want=4 ;; esac
	[ $status = $want ] || { echo "strsize $size: status $status"; cat "$TMP/out"; exit 1; }
	cp "$TMP/out" "$TMP/out.$size"
done
# Beyond the length of all texts the size makes no difference, but to sizeof.
for size in 65536 65537 131072 1m; do
	sed 's/^[0-9]* [0-9]* zero/N N zero/' "$TMP/out.64" >"$TMP/a"
	sed 's/^[0-9]* [0-9]* zero/N N zero/' "$TMP/out.$size" >"$TMP/b"
	cmp "$TMP/a" "$TMP/b" || { diff "$TMP/a" "$TMP/b"; exit 1; }
done
# What is beyond is refused with the bounds.
for size in 0 1048577; do
	"$DTRACE" -x strsize=$size -n BEGIN 2>"$TMP/err" && { echo "strsize $size is accepted"; exit 1; }
	grep -q "'strsize' lies between 1 and 1048576" "$TMP/err" || { cat "$TMP/err"; exit 1; }
done
