# File names that a program has put together of parts, and that V8 has not joined yet: each script has its name in its frame, whichever of
# the parts were put together first. Where both parts of a pair are pairs, or there are too many, it is <anonymous>, never some of the parts.
# Lines of the functions of one file are counted from one function to the next, up and down.
node=${NODE:-/usr/bin/node}
case $($node --version 2>/dev/null) in
v1[68].*|v2[0246].*) ;;
*)
	echo "this test needs Node.js 20 (package nodejs)"
	exit 67
	;;
esac
cd "$TMP" || exit 1

cat >joined.js <<'X'
'use strict';
const fs = require('fs'), vm = require('vm');
const part = (name) => `/${name}${process.argv.length}`; // what is added is not known when the program is compiled
const left = '/srv/a-directory' + part('left') + part('then') + '.js';
const right = '/srv/a-directory' + (part('right-of') + (part('several-of') + '/the-parts.js'));
const spine = ('/srv/a-directory' + (part('right-of') + '/the-beginning')) + '.js';
const wide = '/srv/größe-directory' + part('wide') + '/πρόγραμμα.js';
const pairs = ('/srv/a-directory' + part('of-pairs')) + (part('file-of-pairs') + '/name.js');
let many = '/srv/a-directory';
for (let i = 0; i < 40; i++)
	many += part('many');
const load = (filename) => new vm.Script('(function load(f) {\n\n\treturn 1 + f();\n})', { filename }).runInThisContext();
const loaded = [left, right, spine, wide, pairs, many].map(load);

const text = [];
for (let i = 0; i < 9; i++)
	text.push('\n'.repeat(i), `function f${i}(i, f) {\n\treturn 1 + (i < order.length ? all[order[i]](i + 1, f) : f());\n}\n`);
globalThis.order = [4, 0, 8, 1, 1, 7, 6, 2, 3, 5];
globalThis.all = vm.runInThisContext(text.join('') + '[f0, f1, f2, f3, f4, f5, f6, f7, f8]', { filename: '/srv/lines.js' });
const leaf = () => process.umask(18) & 0;
leaf();
const wait = setInterval(() => {
	if (!fs.existsSync('met'))
		return;
	clearInterval(wait);
	for (const f of loaded)
		f(leaf);
	all[5](0, leaf);
}, 20);
X
rm -f met
LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=32k -n 'syscall::umask:entry /pid == $target/ { jstack(100); }' -c "$node joined.js" >got.txt
sed -nE 's/^ *((load|f[0-9]) at .*)$/\1/p' got.txt
