# The last strsize holds for the strings of all programs, those compiled before it too.
long=$(printf '%0300d' 0)
first='BEGIN { s = "'$long'"; this->t = s; a[1] = s; self->x = s; printf("%d %d %d %d\n", strlen(s), strlen(this->t), strlen(a[1]), strlen(self->x)); }'
second='BEGIN { t = strjoin(s, "y"); printf("%d\n", strlen(t)); exit(0); }'
run() {
	"$DTRACE" -qn "$first" -n "#pragma D option strsize=$1
$second" | tr '\n' ' ' | grep -qx "$2 " || { echo "strsize=$1: wanted $2"; exit 1; }
}
run 1k '300 300 300 300 301 '
run 16 '15 15 15 15 15 '
run 256 '255 255 255 255 255 '
