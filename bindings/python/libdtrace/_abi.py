# SPDX-License-Identifier: MIT
"""What <dtrace.h> declares, for ctypes: structures, constants, functions. tests/e2e/cmd/bindings_python.sh compares the structures with the header."""
import ctypes
import ctypes.util
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint, c_uint32,
                    c_uint64, c_void_p)

VERSION = 4  # DTRACE_VERSION: dtrace_open() takes no other

# dtrace_datumkind_t
INT, STRING, BYTES, STACK, USTACK, SYM, MOD, USYM, UMOD, UADDR = range(10)
# dtrace_actkind_t, those that are asked for here
ACT_DIFEXPR, ACT_EXIT, ACT_PRINTF, ACT_PRINTA = 1, 2, 3, 4
ACT_CLEAR, ACT_SYSTEM = 15, 22
AGG_COUNT, AGG_QUANTIZE, AGG_LLQUANTIZE = 23, 29, 31
FUNCTIONS = ("count", "sum", "min", "max", "avg", "stddev", "quantize", "lquantize", "llquantize", "live")
CONSUME_ERROR, CONSUME_THIS, CONSUME_NEXT = -1, 0, 1
AGGWALK_ERROR, AGGWALK_NEXT, AGGWALK_CLEAR, AGGWALK_REMOVE = -1, 0, 2, 5
WORK_ERROR, WORK_OKAY, WORK_DONE = -1, 0, 1
FRAME_CUT, FRAME_LANGUAGE = 0x4, 0x10
PROBESPEC_NAME = 3
O_NODEV = 0x01
C_ZDEFS = 0x01
CPUALL = -1


class ProbeDesc(Structure):
    _fields_ = [("dtpd_id", c_uint32), ("dtpd_provider", c_char_p), ("dtpd_mod", c_char_p), ("dtpd_func", c_char_p),
                ("dtpd_name", c_char_p)]


class ProgInfo(Structure):
    _fields_ = [("dpi_matches", c_uint32), ("dpi_statements", c_uint32), ("dpi_recgens", c_uint32),
                ("dpi_aggregates", c_uint32)]


class Frame(Structure):
    _fields_ = [("dtf_addr", c_uint64), ("dtf_pid", c_int32), ("dtf_flags", c_uint32), ("dtf_helper", c_char_p)]


class Datum(Structure):
    _fields_ = [("dtd_kind", c_int), ("dtd_is_signed", c_int), ("dtd_size", c_uint32), ("dtd_value", c_uint64),
                ("dtd_bytes", c_void_p), ("dtd_addr", c_uint64), ("dtd_pid", c_int32), ("dtd_frames", POINTER(Frame)),
                ("dtd_nframes", c_uint32)]


class RecDesc(Structure):
    _fields_ = [("dtrd_action", c_int), ("dtrd_size", c_uint32), ("dtrd_offset", c_uint32),
                ("dtrd_alignment", c_uint32), ("dtrd_format", c_char_p), ("dtrd_type", c_char_p),
                ("dtrd_nvals", c_uint32), ("dtrd_naggs", c_uint32), ("dtrd_aggs", POINTER(c_uint32))]


class EprobeDesc(Structure):
    _fields_ = [("dtepd_epid", c_uint32), ("dtepd_probeid", c_uint32), ("dtepd_uarg", c_uint64),
                ("dtepd_size", c_uint32), ("dtepd_nrecs", c_int), ("dtepd_rec", POINTER(RecDesc))]


class ProbeData(Structure):
    _fields_ = [("dtpda_handle", c_void_p), ("dtpda_edesc", POINTER(EprobeDesc)), ("dtpda_pdesc", POINTER(ProbeDesc)),
                ("dtpda_cpu", c_int), ("dtpda_data", c_void_p), ("dtpda_flow", c_int), ("dtpda_prefix", c_char_p),
                ("dtpda_indent", c_int), ("dtpda_timestamp", c_uint64)]


class AggDesc(Structure):
    _fields_ = [("dtagd_name", c_char_p), ("dtagd_varid", c_uint32), ("dtagd_action", c_int), ("dtagd_flags", c_uint32),
                ("dtagd_params", c_int64 * 4), ("dtagd_nrecs", c_int), ("dtagd_rec", POINTER(RecDesc))]


class AggData(Structure):
    _fields_ = [("dtada_handle", c_void_p), ("dtada_desc", POINTER(AggDesc)), ("dtada_data", c_void_p),
                ("dtada_size", c_size_t), ("dtada_normal", c_uint64), ("dtada_keys", POINTER(Datum)),
                ("dtada_nkeys", c_uint32), ("dtada_ncpus", c_uint32), ("dtada_private", c_void_p)]


class Bucket(Structure):
    _fields_ = [("dtb_min", c_int64), ("dtb_max", c_int64), ("dtb_count", c_int64)]


class AggValue(Structure):
    _fields_ = [("dtav_action", c_int), ("dtav_value", c_int64), ("dtav_count", c_uint64), ("dtav_sum", c_int64),
                ("dtav_sumsq", c_uint64 * 2), ("dtav_is_empty", c_int), ("dtav_buckets", POINTER(Bucket)),
                ("dtav_nbuckets", c_uint32)]


class DropData(Structure):
    _fields_ = [("dtdda_handle", c_void_p), ("dtdda_cpu", c_int), ("dtdda_kind", c_int), ("dtdda_drops", c_uint64),
                ("dtdda_total", c_uint64), ("dtdda_msg", c_char_p)]


class ErrData(Structure):
    _fields_ = [("dteda_handle", c_void_p), ("dteda_edesc", POINTER(EprobeDesc)), ("dteda_pdesc", POINTER(ProbeDesc)),
                ("dteda_cpu", c_int), ("dteda_action", c_int), ("dteda_offset", c_int), ("dteda_fault", c_int),
                ("dteda_addr", c_uint64), ("dteda_count", c_uint64), ("dteda_msg", c_char_p)]


class BufData(Structure):
    _fields_ = [("dtbda_handle", c_void_p), ("dtbda_buffered", c_void_p), ("dtbda_len", c_size_t),
                ("dtbda_probe", POINTER(ProbeData)), ("dtbda_recdesc", POINTER(RecDesc)),
                ("dtbda_aggdata", POINTER(AggData)), ("dtbda_flags", c_uint32)]


STRUCTS = {"dtrace_probedesc_t": ProbeDesc, "dtrace_proginfo_t": ProgInfo, "dtrace_frame_t": Frame, "dtrace_datum_t": Datum,
           "dtrace_recdesc_t": RecDesc, "dtrace_eprobedesc_t": EprobeDesc, "dtrace_probedata_t": ProbeData,
           "dtrace_aggdesc_t": AggDesc, "dtrace_aggdata_t": AggData, "dtrace_bucket_t": Bucket,
           "dtrace_aggvalue_t": AggValue, "dtrace_dropdata_t": DropData, "dtrace_errdata_t": ErrData,
           "dtrace_bufdata_t": BufData}

probe_f = CFUNCTYPE(c_int, POINTER(ProbeData), c_void_p)
rec_f = CFUNCTYPE(c_int, POINTER(ProbeData), POINTER(RecDesc), c_void_p)
agg_f = CFUNCTYPE(c_int, POINTER(AggData), c_void_p)
list_f = CFUNCTYPE(c_int, c_void_p, POINTER(ProbeDesc), c_void_p)
drop_f = CFUNCTYPE(c_int, POINTER(DropData), c_void_p)
err_f = CFUNCTYPE(c_int, POINTER(ErrData), c_void_p)
buffered_f = CFUNCTYPE(c_int, POINTER(BufData), c_void_p)
notice_f = CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p)
proc_f = CFUNCTYPE(c_int, c_void_p, c_int, c_char_p, c_void_p)

FUNCS = {  # name: result, arguments
    "dtrace_open": (c_void_p, c_int, c_int, POINTER(c_int)),
    "dtrace_open_errmsg": (c_char_p,),
    "dtrace_close": (c_int, c_void_p),
    "dtrace_errno": (c_int, c_void_p),
    "dtrace_errmsg": (c_char_p, c_void_p, c_int),
    "dtrace_errhint": (c_char_p, c_void_p),
    "dtrace_setopt": (c_int, c_void_p, c_char_p, c_char_p),
    "dtrace_getopt": (c_int, c_void_p, c_char_p, POINTER(c_int64)),
    "dtrace_program_strcompile": (c_void_p, c_void_p, c_char_p, c_int, c_uint, c_int, POINTER(c_char_p)),
    "dtrace_program_exec": (c_int, c_void_p, c_void_p, POINTER(ProgInfo)),
    "dtrace_probe_iter": (c_int, c_void_p, POINTER(ProbeDesc), list_f, c_void_p),
    "dtrace_proc_create": (c_int, c_void_p, c_char_p),
    "dtrace_proc_grab": (c_int, c_void_p, c_int),
    "dtrace_proc_continue": (c_int, c_void_p),
    "dtrace_go": (c_int, c_void_p),
    "dtrace_stop": (c_int, c_void_p),
    "dtrace_interrupt": (None, c_void_p),
    "dtrace_sleep": (None, c_void_p),
    "dtrace_work": (c_int, c_void_p, c_void_p, probe_f, rec_f, c_void_p),
    "dtrace_exit_status": (c_int, c_void_p),
    "dtrace_recdata": (c_int, POINTER(ProbeData), POINTER(RecDesc), POINTER(Datum)),
    "dtrace_aggregate_snap": (c_int, c_void_p),
    "dtrace_aggregate_walk_keyvarsorted": (c_int, c_void_p, agg_f, c_void_p),
    "dtrace_aggregate_walk_valsorted": (c_int, c_void_p, agg_f, c_void_p),
    "dtrace_aggregate_walk_valrevsorted": (c_int, c_void_p, agg_f, c_void_p),
    "dtrace_aggregate_walk": (c_int, c_void_p, agg_f, c_void_p),
    "dtrace_aggvalue": (c_int, POINTER(AggData), c_int, POINTER(AggValue)),
    "dtrace_addr2str": (c_int, c_void_p, c_uint64, c_char_p, c_int),
    "dtrace_uaddr2str": (c_int, c_void_p, c_int, c_uint64, c_char_p, c_int),
    "dtrace_frame2str": (c_int, c_void_p, POINTER(Frame), c_char_p, c_int),
    "dtrace_handle_drop": (c_int, c_void_p, drop_f, c_void_p),
    "dtrace_handle_err": (c_int, c_void_p, err_f, c_void_p),
    "dtrace_handle_buffered": (c_int, c_void_p, buffered_f, c_void_p),
    "dtrace_handle_notice": (c_int, c_void_p, notice_f, c_void_p),
    "dtrace_handle_proc": (c_int, c_void_p, proc_f, c_void_p),
}


def load():
    """The library: LIBDTRACE names its file, else the system's is taken."""
    path = os.environ.get("LIBDTRACE") or ctypes.util.find_library("dtrace") or "libdtrace.so.1"
    lib = ctypes.CDLL(path, use_errno=True)
    for name, (result, *args) in FUNCS.items():
        func = getattr(lib, name)
        func.restype, func.argtypes = result, args
    return lib
