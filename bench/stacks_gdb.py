#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares user stacks with gdb's, on stock programs stopped where the stack was taken.

    bench/stacks_gdb.py BUILD [PROGRAM...] [-n SAMPLES] [--names]

Frames of inlined functions and of tail calls, which gdb makes up from debug information, are on no stack and left out.
Frames below generated code (V8's) are left out: there gdb guesses. For each sample, dtrace takes a stack at a timer's tick and stops the process there; gdb then walks the same
stack. Equal means: the same addresses, frame by frame. Differences are listed. Needs gdb with Python, root.
With --names, names are compared instead: frames that gdb names and we do not are listed, and counted as different.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEPTH = 400

GDB = """
import gdb
def show():
    t = [t for t in gdb.selected_inferior().threads() if t.ptid[1] == TID]
    t[0].switch()
    f = gdb.newest_frame()
    n = 0
    while f is not None and n < %d:
        if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            print('PC %%d %%x %%s' %% (f.type(), f.pc(), f.name()))
            n += 1
        f = f.older()
    print('DONE')
show()
""" % (DEPTH + 1)

SPIN = {
    'perl': 'sub f{my($n)=@_; return $n?1+f($n-1):0} while(1){ my %h; $h{$_}=sprintf("%d",$_*3) for 1..300; '
            'f(20); join(",", sort { $a <=> $b } values %h); ($x)= ("abc" x 100) =~ /(b.*c)+/ }',
    'python': 'import re,json\ndef f(n):\n return f(n-1)+1 if n else 0\nwhile 1:\n f(30)\n '
              'json.dumps({str(i):[i]*3 for i in range(50)})\n sorted(range(500),key=lambda x:-x)\n '
              're.sub("a+b","c","aab"*50)\n',
    'ruby': 'def f(n) n>0 ? f(n-1)+1 : 0 end; loop { f(20); (1..300).map{|x| x.to_s*3}.sort.join; '
            '"aab"*50 =~ /(a+b)+/ }',
    'php': 'function f($n){return $n?f($n-1)+1:0;} while(1){ f(20); $a=range(1,300); '
           'usort($a,fn($x,$y)=>$y-$x); json_encode($a); preg_replace("/a+b/","c",str_repeat("aab",50)); }',
    'lua': 'local function f(n) return n>0 and f(n-1)+1 or 0 end while true do f(20) local t={} '
           'for i=1,300 do t[i]=tostring(i) end table.sort(t) string.gsub(("aab"):rep(50),"a+b","c") end',
    'awk': 'BEGIN{while(1){for(i=0;i<300;i++)a[i]=sprintf("%d",i*3);split("a b c d",b," ");gsub(/a+b/,"c",b[1])}}',
    'sql': 'with recursive c(x) as (select 1 union all select x+1 from c limit 100000000) '
           'select count(*) from (select x%7 a, abs(x) b from c order by b desc limit 10);',
}
NODE_C = 'const c=require("zlib");let b=Buffer.alloc(1<<20,"abcdef");while(1){c.deflateSync(b)}'

PROGRAMS = {  # name: (command, note)
    'perl': ['/usr/bin/perl', '-e', SPIN['perl']],
    'python3': ['/usr/bin/python3', '-c', SPIN['python']],
    'ruby': ['/usr/bin/ruby', '-e', SPIN['ruby']],
    'php': ['/usr/bin/php', '-r', SPIN['php']],
    'lua5.4': ['/usr/bin/lua5.4', '-e', SPIN['lua']],
    'mawk': ['/usr/bin/mawk', SPIN['awk']],
    'sqlite3': ['/usr/bin/sqlite3', ':memory:', SPIN['sql']],
    'bash': ['/bin/bash', '-c', 'f(){ local n=$1; ((n>0)) && f $((n-1)); }; while :; do f 20; x=${PATH//:/;}; done'],
    'dash': ['/bin/dash', '-c', 'f(){ [ $1 -gt 0 ] && f $(($1-1)); }; while :; do f 20; done'],
    'grep': ['/bin/sh', '-c', 'exec /bin/grep -E "(a+b|x+y)+z" /dev/zero --binary-files=text'],
    'xz': ['/bin/sh', '-c', 'exec /usr/bin/xz -9c </dev/urandom >/dev/null'],
    'gzip': ['/bin/sh', '-c', 'exec /bin/gzip -9c </dev/urandom >/dev/null'],
    'sort': ['/bin/sh', '-c', 'yes abcdefgh | exec /usr/bin/sort -R >/dev/null'],
    'openssl': ['/usr/bin/openssl', 'speed', '-seconds', '100', 'sha256', 'aes-128-cbc', 'rsa2048'],
    'tar': ['/bin/sh', '-c', 'while :; do /bin/tar cf - /usr/share/doc /usr/lib/python3 2>/dev/null | cat >/dev/null; done'],
    'find': ['/bin/sh', '-c', 'while :; do /usr/bin/find /usr -name "*.nothing"; done'],
    'cc1': ['/bin/sh', '-c', 'while :; do gcc -O2 -w -S -o /dev/null -x c %s; done' %
            os.path.join(ROOT, 'src/d/check/check_op.c') + ' -I%s/src -I%s/include -D_GNU_SOURCE' % (ROOT, ROOT)],
    'node': ['/usr/bin/node', '-e', NODE_C],
    'rg': ['/bin/sh', '-c', 'while :; do /usr/bin/rg -j1 -uuu "[a-z]+ing.*(foo|bar)+x" /usr/share /usr/lib; done'],
    'gdb': ['/bin/sh', '-c', 'while :; do /usr/bin/gdb -nx -batch -ex "info line main" %s; done' % '/usr/bin/gdb'],
}
CHILD = {'find': 'find', 'tar': 'tar', 'cc1': 'cc1', 'rg': 'rg', 'gdb': 'gdb', 'sort': 'sort'}  # the process to look at


def run(cmd, timeout, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout, **kw)


def bases(pid):
    """Addresses where each object is mapped."""
    starts = {}
    with open(f'/proc/{pid}/maps') as f:
        for line in f:
            parts = line.split(None, 5)
            if len(parts) == 6:
                name = os.path.basename(parts[5].rstrip('\n').removesuffix(' (deleted)'))
                starts.setdefault(name, []).append(int(parts[0].split('-')[0], 16))
    return starts


def generated(pid, frames):
    """Index of the first frame in code that is in no file: there gdb guesses."""
    with open(f'/proc/{pid}/maps') as f:
        parts = [line.split() for line in f]
    files = [tuple(int(x, 16) for x in p[0].split('-')) for p in parts if len(p) > 5 and p[5][0] in '/[']
    for i, (pc, _) in enumerate(frames):
        if not any(lo <= pc < hi for lo, hi in files):
            return i
    return len(frames)


def ours(dtrace, comm, pids, env):
    """(pid, tid, frames) of a stack at whose place the thread is now stopped; a frame: the addresses it may be, none: cut."""
    which = ' || '.join(f'pid == {p}' for p in pids) if pids else f'execname == "{comm}"'
    prog = ('profile-997 /(%s) && arg1/ { @ = max(ustackdepth); } '  # its tables are loaded when they are missed
            'profile-997 /(%s) && arg1 && n++ == 300/ { printf("%%d %%d\\n", pid, tid); '
            'ustack(%d); raise(19); exit(0); }' % (which, which, DEPTH))
    try:
        out = run([dtrace, '-wqn', prog, '-xnoresolve'], 20, env=env).stdout
    except subprocess.TimeoutExpired:
        return None
    head = re.search(r'^(\d+) (\d+)$', out, re.M)
    if not head:
        return None
    pid, tid = int(head[1]), int(head[2])
    starts = bases(pid)
    pcs = []
    for line in out[head.end():].split('\n'):
        line = line.strip()
        m = re.match(r'(.+):0x([0-9a-f]+)$', line)
        if m:
            pcs.append({start + int(m[2], 16) for start in starts.get(m[1], [0])})
        elif line.startswith('0x'):
            pcs.append({int(line, 16)})
        elif line in ('[cut]', '[no unwind table yet]'):
            pcs.append(set())
    return pid, tid, pcs


def ours_named(dtrace, comm, pids, env):
    """The same with what is printed of each frame."""
    which = ' || '.join(f'pid == {p}' for p in pids) if pids else f'execname == "{comm}"'
    prog = ('profile-997 /(%s) && arg1/ { @ = max(ustackdepth); } '
            'profile-997 /(%s) && arg1 && n++ == 300/ { printf("%%d %%d\\n", pid, tid); '
            'ustack(%d); raise(19); exit(0); }' % (which, which, DEPTH))
    try:
        out = run([dtrace, '-wqn', prog], 20, env=env).stdout
    except subprocess.TimeoutExpired:
        return None
    head = re.search(r'^(\d+) (\d+)$', out, re.M)
    lines = [line.strip() for line in out[head.end():].split('\n')] if head else []
    return (int(head[1]), int(head[2]), [line for line in lines if line]) if head else None


def compare_names(name, mine, theirs):
    """(frames that gdb names, those that we name, too)"""
    named = [(m, n) for m, (_, n) in zip(mine, theirs) if n != 'None']
    bare = [(m, n) for m, n in named if re.search(r'(^|`)0x[0-9a-f]+$', m)]
    for m, n in bare:
        print(f'    {name}: gdb says {n}, we {m}')
    return len(named), len(named) - len(bare)


def gdbs(pid, tid):
    with tempfile.NamedTemporaryFile('w', suffix='.py') as f:
        f.write(GDB.replace('TID', str(tid)))
        f.flush()
        out = run(['gdb', '-nx', '-batch', '-iex', 'set debuginfod enabled off', '-iex', 'set auto-load no',
               '-iex', 'set backtrace past-main on',
                   '-p', str(pid), '-x', f.name], 60)
    return [(int(m[2], 16), m[3]) for m in re.finditer(r'^PC (\d+) ([0-9a-f]+) (.*)$', out.stdout, re.M)]


def compare(name, mine, theirs, show):
    """(frames of gdb's, equal ones)"""
    n = min(len(theirs), DEPTH)
    same = 0
    while same < min(n, len(mine)) and theirs[same][0] in mine[same]:
        same += 1
    extra = len(mine) - n
    if same == n and extra <= 0:
        return n, same
    if show:
        at = f'{theirs[same][0]:#x} {theirs[same][1]}' if same < n else 'end'
        have = '-' if same >= len(mine) else 'cut' if not mine[same] else f'{min(mine[same]):#x}'
        before = f'{theirs[same - 1][0]:#x} {theirs[same - 1][1]}' if same else ''
        print(f'    {name}: frame {same} of {n} ({len(mine)}): gdb {at}, we {have}; after {before}')
    return max(n, len(mine)), same


def kill(proc):
    os.killpg(proc.pid, signal.SIGKILL)
    proc.wait()


def test(name, dtrace, samples, env, names):
    proc = subprocess.Popen(PROGRAMS[name], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, preexec_fn=os.setsid)
    frames = equal = full = taken = 0
    try:
        time.sleep(0.5)
        for _ in range(samples):
            look = ours_named if names else ours
            got = look(dtrace, CHILD.get(name), None if name in CHILD else [proc.pid], env)
            if not got:
                continue
            pid, tid, mine = got
            try:
                theirs = gdbs(pid, tid)
                known = generated(pid, theirs)
                if known < len(theirs):
                    theirs, mine = theirs[:known], mine[:known]
                if theirs:
                    n, same = compare_names(name, mine, theirs) if names else compare(name, mine, theirs, True)
                    taken, frames, equal, full = taken + 1, frames + n, equal + same, full + (n == same)
            finally:
                os.kill(pid, signal.SIGCONT)
            time.sleep(0.03)
    finally:
        kill(proc)
    pct = 100 * equal / frames if frames else 0
    print(f'{name:10} {taken:3} stacks {full:3} equal   {frames:5} frames {pct:6.2f} % equal', flush=True)
    return frames, equal


def main():
    p = argparse.ArgumentParser()
    p.add_argument('build')
    p.add_argument('-n', type=int, default=20)
    p.add_argument('--names', action='store_true')
    p.add_argument('programs', nargs='*')
    opts = p.parse_args()
    env = dict(os.environ, DTRACE_OPT_SYSLIBDIR=os.path.join(ROOT, 'dlib'))
    dtrace = os.path.join(opts.build, 'src/cmd/dtrace/dtrace')
    frames = equal = 0
    for name in opts.programs or PROGRAMS:
        if not os.path.exists(PROGRAMS[name][0]):
            print(f'{name}: not installed')
            continue
        f, e = test(name, dtrace, opts.n, env, opts.names)
        frames, equal = frames + f, equal + e
    print(f'total: {frames} frames, {100 * equal / max(frames, 1):.2f} % equal')
    return 0 if frames and equal >= 0.995 * frames else 1


sys.exit(main())
