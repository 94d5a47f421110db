# Stacks of real workloads: a web server under load, a compiler that is written in the language, a test suite. Each writes down its own stack
# now and then with one write(), at which the stack is recorded: all frames of the language are those noted, in order, with function, file
# and line; no frame is there that the program did not note, and 99 of 100 are there. DEPTHS=FILE keeps how many stacks and frames were compared.
[ -z "$SANITIZED" ] || { echo "once is enough: it takes long"; exit 67; }
cd "$TMP" || exit 1
here=$SRC/tests/e2e/stack/workloads
export LC_ALL=C.UTF-8
# workload TITLE LANGUAGE COMMAND...: runs it, traced
workload() {
	title=$1 language=$2
	shift 2
	rm -f noted met
	"$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=128k -x bufsize=32m -x switchrate=50hz -n '
		syscall::write:entry, syscall::writev:entry /pid == $target || progenyof($target)/ {
			this->text = probefunc == "write" ? arg1 : *(uintptr_t *)copyin(arg1, 8); }
		syscall::write:entry, syscall::writev:entry /this->text && copyinstr(this->text, 6) == "POINT:"/ {
			printf("ID %s\n", copyinstr(this->text, 12)); jstack(1024); }' -c "$*" >got.txt 2>said
	# other programs of the machine may have files that nobody can read now; what a fault of a helper costs, compare.py counts
	grep -v "ustack helper\|^hint: from '.helper error.' on\|cannot read '.*file systems\{0,1\} " said | head -n 5
	echo "$title: $(/usr/bin/python3 "$here/compare.py" $language noted <got.txt 2>size)"
	echo "$title: $(cat size)" >>"${DEPTHS:-/dev/null}"
}
# with LANGUAGE PROGRAM WHAT...: whether the program is there; else these workloads count as good
with() {
	language=$1 program=$2
	shift 2
	[ -x "$program" ] && return
	for what; do echo "$language, $what: good"; done
	return 1
}
{
	if with python /usr/bin/python3.11 server compiler 'test suite'; then
		workload 'python, server' python /usr/bin/python3.11 -W ignore "$here/python.py" server 97 300
		workload 'python, compiler' python /usr/bin/python3.11 -W ignore "$here/python.py" compiler 997 300
		if /usr/bin/python3.11 -c 'import pyflakes.test' 2>/dev/null; then
			workload 'python, test suite' python /usr/bin/python3.11 -W ignore "$here/python.py" tests 1499 300
		else
			echo 'python, test suite: good'
		fi
	fi
	node=$(readlink -f "$(command -v node)")
	if with node "${node:-/none}" server compiler 'test suite'; then
		workload 'node, server' node "$node" "$here/node.js" server 13 300
		workload 'node, compiler' node "$node" --expose-internals "$here/node.js" compiler 97 300
		workload 'node, test suite' node "$node" "$here/node.js" tests 1 300
	fi
	if with java "$(command -v javac || echo /none)" server compiler; then
		cp "$here/Workload.java" . && javac -nowarn Workload.java 2>/dev/null
		workload 'java, server' java java -XX:+UnlockDiagnosticVMOptions -XX:+ShowHiddenFrames -cp . Workload server 29 300
		workload 'java, compiler' java java -XX:+UnlockDiagnosticVMOptions -XX:+ShowHiddenFrames -cp . Workload compiler 5 300
	fi
	if with ruby /usr/bin/ruby3.1 server compiler 'test suite'; then
		workload 'ruby, server' ruby /usr/bin/ruby3.1 "$here/ruby.rb" server 97 300
		workload 'ruby, compiler' ruby /usr/bin/ruby3.1 "$here/ruby.rb" compiler 1499 300
		workload 'ruby, test suite' ruby /usr/bin/ruby3.1 "$here/ruby.rb" tests 97 300
	fi
	if with perl /usr/bin/perl server compiler 'test suite'; then
		workload 'perl, server' perl /usr/bin/perl "$here/perl.pl" server 13 300
		workload 'perl, compiler' perl /usr/bin/perl "$here/perl.pl" compiler 97 300
		workload 'perl, test suite' perl /usr/bin/perl "$here/perl.pl" tests 13 300
	fi
	if with php /usr/bin/php8.2 server; then
		port=$((20000 + $$ % 12000)) # below those that connections get
		# the first request tells the tracer of the process
		cat >load.py <<X
import os, threading, time, urllib.request
url = "http://127.0.0.1:$port"
def get(path):
    try: return urllib.request.urlopen(url + path, timeout=20).read()
    except OSError: return None
for i in range(6000):
    get("/first")
    if os.path.exists("met"): break
    time.sleep(0.02)
def load():
    for i in range(25): get(f"/{i}")
clients = [threading.Thread(target=load) for i in range(4)]
for c in clients: c.start()
for c in clients: c.join()
open("loaded", "w")
X
		cat >serve <<X
#!/bin/sh
/usr/bin/php8.2 -q -S 127.0.0.1:$port "$here/php.php" >log 2>&1 &
server=\$!
/usr/bin/python3 load.py
kill \$server
X
		chmod +x serve
		workload 'php, server' php ./serve
	fi
	if with erlang "$(command -v erlc || echo /none)" server compiler; then
		cp "$here/workload.erl" . && erlc workload.erl
		workload 'erlang, server' erlang erl -noinput -noshell -run workload main server 7 300
		workload 'erlang, compiler' erlang erl -noinput -noshell -run workload main compiler 1 300
	fi
} 2>&1
