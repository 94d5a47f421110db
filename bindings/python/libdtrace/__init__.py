# SPDX-License-Identifier: MIT
"""Consumers of DTrace in Python: D programs in, values out.

    import libdtrace

    with libdtrace.Consumer() as dtp:
        dtp.strcompile('syscall:::entry { @[execname, probefunc] = count(); }')
        dtp.go()
        for row in dtp.run(seconds=1).rows():
            print(row.keys, row.value)

The methods are those that consumers have in other languages: setopt(), strcompile(), go(), consume(), aggwalk(), stop(). They run on
the library of the dtrace command (libdtrace.so); the program needs the same privileges.

A consumer belongs to one thread at a time: a call raises Error while another thread is in one. interrupt() alone may be called by any
thread and by signal handlers. A callback may ask, stop(), setopt() and interrupt(); close(), go(), consume() and what reads
aggregations raise Error there. After a fork the session is the parent's: in the child close() does nothing, other calls raise Error.
"""
import collections
import contextlib
import ctypes
import functools
import os
import re
import signal
import threading
import time

from . import _abi as abi

__all__ = ["Consumer", "DTraceConsumer", "Error", "Probe", "Record", "Row", "Frame", "Address", "Bucket", "listing"]
__version__ = "0.1.0"

_lib = None


def _library():
    global _lib
    if _lib is None:
        _lib = abi.load()
    return _lib


class Error(Exception):
    """What the library says of a call that failed: the text, `errno` (EDT_* or of the system), and `hint`, or None."""

    def __init__(self, text, errno=0, hint=None):
        super().__init__(text)
        self.errno = errno
        self.hint = hint

    def __str__(self):
        return self.args[0] + (f"\nhint: {self.hint}" if self.hint else "")


Probe = collections.namedtuple("Probe", "provider module function name id")
Probe.__str__ = lambda p: ":".join(p[:4])
Record = collections.namedtuple("Record", "data action format cpu timestamp")
Record.__doc__ = """What an action recorded. `data` is the value; of printf() and others with several values, a tuple."""
Bucket = collections.namedtuple("Bucket", "min max count")
Bucket.__doc__ = """How many values of a histogram lie from min to max, both included; None: there is no bound."""
Row = collections.namedtuple("Row", "name function keys value varid")
Row.__doc__ = """A row of an aggregation: `value` is an integer, or a list of Bucket."""
Frame = collections.namedtuple("Frame", "text address pid helper")


class Address(int):
    """An address that was recorded with sym(), usym() and the like; str() is its name."""

    def __new__(cls, value, text, pid):
        self = super().__new__(cls, value)
        self.text, self.pid = text, pid
        return self

    def __str__(self):
        return self.text


def _text(raw):
    return raw.decode("utf-8", "replace") if raw is not None else None


def _name(call, *args):
    """What a function that writes a text writes, however long."""
    room = ctypes.create_string_buffer(256)
    size = call(*args, room, len(room))
    if size >= len(room):
        room = ctypes.create_string_buffer(size + 1)
        call(*args, room, len(room))
    return _text(room.value)


def _probe(desc):
    d = desc.contents
    return Probe(_text(d.dtpd_provider), _text(d.dtpd_mod), _text(d.dtpd_func), _text(d.dtpd_name), d.dtpd_id)


def _call(method):
    """A method that calls the library: by one thread at a time, and only while the consumer is open."""
    @functools.wraps(method)
    def wrapper(self, *args, **kwargs):
        with self._used():
            return method(self, *args, **kwargs)
    return wrapper


class Consumer:
    """One session: setopt(), strcompile(), go(), then consume() and aggwalk() again and again, then stop()."""

    def __init__(self, only_compile=False):
        self._dt = _library()
        err = ctypes.c_int()
        self._h = self._dt.dtrace_open(abi.VERSION, abi.O_NODEV if only_compile else 0, ctypes.byref(err))
        if not self._h:
            text, _, hint = _text(self._dt.dtrace_open_errmsg()).partition("\nhint: ")
            raise Error(text, err.value, hint or None)
        self._pid = os.getpid()
        self._user = threading.RLock()  # the thread that is in a call; its callbacks may call again
        self._life = threading.RLock()  # close() and interrupt() exclude each other
        self._depth, self._interrupted = 0, False  # calls that have not returned, one inside another
        self._keep, self._raised = [], None  # callbacks that the library has; an exception of one of them
        self._probes = {}
        self.on_drop = self.on_error = self.on_notice = self.on_text = None
        self._handle(abi.drop_f, self._dt.dtrace_handle_drop, lambda d, arg: self._told(self.on_drop, d.contents.dtdda_msg))
        self._handle(abi.err_f, self._dt.dtrace_handle_err, lambda d, arg: self._told(self.on_error, d.contents.dteda_msg))
        self._handle(abi.notice_f, self._dt.dtrace_handle_notice, lambda h, msg, arg: self._told(self.on_notice, msg))
        self._handle(abi.proc_f, self._dt.dtrace_handle_proc, lambda h, pid, msg, arg: self._told(self.on_notice, msg))
        self._handle(abi.buffered_f, self._dt.dtrace_handle_buffered, self._buffered)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def __del__(self):
        if getattr(self, "_life", None):
            self.close()

    # ---- calls -------------------------------------------------------------------------------------

    def _handle(self, kind, call, func):
        self._keep.append(kind(func))
        call(self._h, self._keep[-1], None)

    def _check(self, result):
        """Raises what a callback has raised, else the error of a call that returned -1."""
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
        if result == -1:
            errno = self._dt.dtrace_errno(self._h)
            raise Error(_text(self._dt.dtrace_errmsg(self._h, errno)), errno, _text(self._dt.dtrace_errhint(self._h)))
        return result

    @contextlib.contextmanager
    def _used(self):
        if os.getpid() != self._pid:
            raise Error(f"the consumer belongs to process {self._pid}, of which this one is a fork")
        if not self._user.acquire(blocking=False):
            raise Error("another thread is in a call of the consumer", hint="interrupt() ends its sleep() or run()")
        try:
            if not self._h:
                raise Error("the consumer is closed")
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
        finally:
            self._user.release()

    def _guard(self, failed, func, *args):
        """Calls a function of the program from inside the library: its exception is raised when the library has returned."""
        try:
            return func(*args)
        except BaseException as e:  # also KeyboardInterrupt: nothing may unwind through the library
            self._raised = e if self._raised is None else self._raised
            return failed

    def _told(self, func, msg):
        if not func:
            return 0
        return -1 if self._guard(-1, func, _text(msg).rstrip("\n")) == -1 else 0

    def _buffered(self, buf, arg):
        b = buf.contents
        if self.on_text:
            self._guard(None, self.on_text, ctypes.string_at(b.dtbda_buffered, b.dtbda_len).decode("utf-8", "replace"))
        return 0 if self._raised is None else -1

    # ---- before tracing ----------------------------------------------------------------------------

    @_call
    def setopt(self, name, value=None):
        """Sets an option, with the names and values of dtrace -x: setopt('bufsize', '4m'), setopt('quiet')."""
        self._check(self._dt.dtrace_setopt(self._h, name.encode(), None if value is None else str(value).encode()))

    @_call
    def getopt(self, name):
        value = ctypes.c_int64()
        self._check(self._dt.dtrace_getopt(self._h, name.encode(), ctypes.byref(value)))
        return value.value

    @_call
    def strcompile(self, text, *args, zdefs=False):
        """Compiles a program and enables its probes; args are $1 and so on. Returns how many probes it matches."""
        argv = (ctypes.c_char_p * (len(args) + 2))(b"python", *(str(a).encode() for a in args))
        prog = self._dt.dtrace_program_strcompile(self._h, text.encode(), abi.PROBESPEC_NAME,
                                                  abi.C_ZDEFS if zdefs else 0, len(args) + 1, argv)
        if not prog:
            self._check(-1)
        info = abi.ProgInfo()
        self._check(self._dt.dtrace_program_exec(self._h, prog, ctypes.byref(info)))
        return info.dpi_matches

    @_call
    def create(self, command):
        """As -c: starts the command, which waits for go(). To be called before strcompile(): it is $target."""
        self._check(self._dt.dtrace_proc_create(self._h, command.encode()))

    @_call
    def grab(self, pid):
        """As -p; before strcompile()."""
        self._check(self._dt.dtrace_proc_grab(self._h, pid))

    @_call
    def go(self):
        """Begins to trace."""
        self._check(self._dt.dtrace_go(self._h))
        self._check(self._dt.dtrace_proc_continue(self._h))

    # ---- values ------------------------------------------------------------------------------------

    def _stack(self, d):
        frames = []
        for f in d.dtd_frames[:d.dtd_nframes]:
            text = _name(self._dt.dtrace_frame2str, self._h, ctypes.byref(f))
            has_addr = not f.dtf_flags & (abi.FRAME_CUT | abi.FRAME_LANGUAGE)
            frames.append(Frame(text, f.dtf_addr if has_addr else None, f.dtf_pid, _text(f.dtf_helper)))
        return frames

    def _value(self, d):
        if d.dtd_kind == abi.INT:
            return ctypes.c_int64(d.dtd_value).value if d.dtd_is_signed else d.dtd_value
        if d.dtd_kind == abi.STRING:
            return ctypes.string_at(d.dtd_bytes, d.dtd_size).decode("utf-8", "replace")
        if d.dtd_kind == abi.BYTES:
            return ctypes.string_at(d.dtd_bytes, d.dtd_size) if d.dtd_bytes else b""
        if d.dtd_kind in (abi.STACK, abi.USTACK):
            return self._stack(d)
        if d.dtd_pid:
            name = _name(self._dt.dtrace_uaddr2str, self._h, d.dtd_pid, d.dtd_addr)
        else:
            name = _name(self._dt.dtrace_addr2str, self._h, d.dtd_addr)
        if d.dtd_kind in (abi.MOD, abi.UMOD):
            name = name.partition("`")[0]
        elif d.dtd_kind in (abi.SYM, abi.USYM):
            name = re.sub(r"\+0x[0-9a-f]+$", "", name)  # the offset; C++ has functions with a '+' in their name
        return Address(d.dtd_addr, name, d.dtd_pid)

    def _record(self, data, rec):
        first, values = rec.contents, []
        for i in range(first.dtrd_nvals if first.dtrd_size else 0):
            d = abi.Datum()
            if self._dt.dtrace_recdata(data, ctypes.byref(rec[i]), ctypes.byref(d)) != 0:
                self._check(-1)
            values.append(self._value(d))
        several = first.dtrd_action in (abi.ACT_PRINTF, abi.ACT_SYSTEM)
        p = data.contents
        return Record(tuple(values) if several else values[0] if values else None, first.dtrd_action,
                      _text(first.dtrd_format), p.dtpda_cpu, p.dtpda_timestamp)

    # ---- while tracing -----------------------------------------------------------------------------

    @_call
    def consume(self, func=None):
        """Takes what was recorded since the last call: func(probe, record) for each action that shows something, and func(probe, None)
        at the end of each firing. Does not wait. Returns False when tracing has ended. What printa() shows comes to on_text."""
        def on_record(data, rec):
            desc = data.contents.dtpda_pdesc
            pid = desc.contents.dtpd_id
            probe = self._probes.get(pid)
            if probe is None or not pid:
                probe = self._probes[pid] = _probe(desc)
            if not rec:
                func(probe, None)
                return abi.CONSUME_THIS
            action = rec.contents.dtrd_action
            if action in (abi.ACT_EXIT, abi.ACT_PRINTA) or abi.ACT_CLEAR <= action < abi.AGG_COUNT:
                return abi.CONSUME_THIS
            func(probe, self._record(data, rec))
            return abi.CONSUME_NEXT

        callback = abi.rec_f(lambda data, rec, arg: self._guard(abi.CONSUME_ERROR, on_record, data, rec)) if func else abi.rec_f()
        status = self._dt.dtrace_work(self._h, None, abi.probe_f(), callback, None)
        self._check(-1 if status == abi.WORK_ERROR else 0)
        return status == abi.WORK_OKAY

    @_call
    def sleep(self):
        """Waits until there may be something to consume, or a signal has come."""
        self._dt.dtrace_sleep(self._h)

    def run(self, func=None, seconds=None):
        """Consumes until tracing ends, ^C, interrupt(), or for so many seconds. Returns self."""
        end = None if seconds is None else time.monotonic() + seconds
        old = None
        if threading.current_thread() is threading.main_thread():
            old = signal.signal(signal.SIGINT, lambda *a: self.interrupt())
        try:
            while self.consume(func) and not self._interrupted and (end is None or time.monotonic() < end):
                if end is None:
                    self.sleep()
                else:
                    time.sleep(max(0, min(0.05, end - time.monotonic())))
        finally:
            self._interrupted = False
            if old is not None:
                signal.signal(signal.SIGINT, old)
        return self

    @_call
    def _rows(self, walk, action, func):
        def on_row(row, arg):
            agg = row.contents
            v = abi.AggValue()
            if self._dt.dtrace_aggvalue(row, abi.CPUALL, ctypes.byref(v)) != 0:
                return abi.AGGWALK_ERROR
            if v.dtav_is_empty:
                return abi.AGGWALK_NEXT
            desc = agg.dtada_desc.contents
            if abi.AGG_QUANTIZE <= desc.dtagd_action <= abi.AGG_LLQUANTIZE:
                value = [Bucket(None if b.dtb_min == -2**63 else b.dtb_min, None if b.dtb_max == 2**63 - 1 else b.dtb_max, b.dtb_count)
                         for b in v.dtav_buckets[:v.dtav_nbuckets]]
            else:
                value = v.dtav_value
            keys = tuple(self._value(k) for k in agg.dtada_keys[:agg.dtada_nkeys])
            func(Row(_text(desc.dtagd_name), abi.FUNCTIONS[desc.dtagd_action - abi.AGG_COUNT], keys, value, desc.dtagd_varid))
            return action

        self._check(self._dt.dtrace_aggregate_snap(self._h))
        callback = abi.agg_f(lambda row, arg: self._guard(abi.AGGWALK_ERROR, on_row, row, arg))
        self._check(walk(self._h, callback, None))

    def aggwalk(self, func):
        """func(varid, keys, value) for each row of each aggregation; what was seen is taken out, so that the next walk sees what came since.
        Nothing that probes add meanwhile is lost. value is an integer; of a histogram a list of ((min, max), count)."""
        def give(row):
            value = [((b.min, b.max), b.count) for b in row.value] if isinstance(row.value, list) else row.value
            func(row.varid, row.keys, value)

        self._rows(self._dt.dtrace_aggregate_walk, abi.AGGWALK_REMOVE, give)

    def rows(self, clear=False, sort=True):
        """The rows of all aggregations as a list, by value if sort. clear: their values begin at zero again."""
        rows = []
        walk = self._dt.dtrace_aggregate_walk_valsorted if sort else self._dt.dtrace_aggregate_walk
        self._rows(walk, abi.AGGWALK_CLEAR if clear else abi.AGGWALK_NEXT, rows.append)
        return rows

    def interrupt(self):
        """For signal handlers and other threads: ends sleep() and run(), and a go() that takes long."""
        if os.getpid() != self._pid:
            return
        with self._life:
            self._interrupted = True
            if self._h:
                self._dt.dtrace_interrupt(self._h)

    @_call
    def stop(self, func=None):
        """Ends tracing; END fires, and its records come to func. Aggregations can be read afterwards. In a callback it only ends
        tracing: the rest comes with the calls of consume() that follow."""
        self._check(self._dt.dtrace_stop(self._h))
        if self._depth > 1:
            return
        while self.consume(func):
            pass

    @property
    @_call
    def exit_status(self):
        """The value of exit(), or None."""
        status = self._dt.dtrace_exit_status(self._h)
        return None if status < 0 else status

    def close(self):
        """Ends tracing and frees everything; may be called again. Raises Error in a callback, and while another thread is in a call."""
        if self._h and os.getpid() == self._pid:
            self._close()

    @_call
    def _close(self):
        with self._life:
            handle, self._h = self._h, None  # a callback that is called while it closes finds it closed
            if self._dt.dtrace_close(handle) == -1:
                self._h = handle
                self._check(-1)

    # ---- listing -----------------------------------------------------------------------------------

    @_call
    def probes(self, provider="", module="", function="", name=""):
        """The probes that a description matches."""
        found = []
        desc = abi.ProbeDesc(0, provider.encode(), module.encode(), function.encode(), name.encode())
        callback = abi.list_f(lambda h, d, arg: found.append(_probe(d)) or 0)
        self._check(self._dt.dtrace_probe_iter(self._h, ctypes.byref(desc), callback, None))
        return found


def listing(description=":::"):
    """The probes of a description 'provider:module:function:name'."""
    with Consumer(only_compile=True) as dtp:
        return dtp.probes(*(description.split(":") + [""] * 4)[:4])


class DTraceConsumer:
    """For those who know python-dtrace: run(script, runtime) with functions for output, records and rows."""

    def __init__(self, out_func=None, walk_func=None, chew_func=None):
        self.out_func = out_func or print
        self.walk_func = walk_func or (lambda varid, keys, value: print(varid, *keys, value))
        self.chew_func = chew_func or (lambda cpu, probe, data: print(cpu, probe, data))

    def run(self, script, runtime=1):
        with Consumer() as dtp:
            dtp.on_text = self.out_func
            dtp.strcompile(script)
            dtp.go()

            def chew(probe, rec):
                if rec:
                    self.chew_func(rec.cpu, str(probe), rec.data)

            dtp.run(chew, runtime)
            dtp.stop(chew)
            dtp.aggwalk(self.walk_func)
