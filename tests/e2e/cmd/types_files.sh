# Options ctypes and dtypes: the types a program declared, and those of the kernel it looked into, with their layout.
# @@foreign
cd "$TMP" || exit 1
cat >p.d <<'END'
typedef unsigned int mine_t;
struct box { char c; mine_t bits : 3; int *(*f)(int, char); struct box *next; int a[2][3]; union { int i; long l; }; };
enum color { RED, GREEN = 7 };
BEGIN { trace(curthread->comm); exit(0); }
END
$DTRACE -x ctypes=c.txt -x dtypes=d.txt -qs p.d >/dev/null || exit 1
grep -A10 'struct box' d.txt | head -11
grep -A3 'enum color' d.txt
grep 'mine_t;' d.txt
grep -c '^struct task_struct {' c.txt
grep -c 'char comm\[16\]; /\* [0-9]* \*/' c.txt
grep -c task_struct d.txt
$DTRACE -x dtypes=/no/such/file -n 'BEGIN { exit(0); }' 2>&1 >/dev/null | grep cannot
