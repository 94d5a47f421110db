/* SPDX-License-Identifier: MIT */
/*
 * The native part of the module: libdtrace for JavaScript (N-API). libdtrace.js has the interface.
 *
 * A handle is an external value that closes the session. Calls run on the thread of JavaScript, and
 * so do the callbacks of the library, inside those calls. An exception that a function of the
 * program throws stays pending; the callback then ends the library's call, and the exception is
 * what the program sees.
 *
 * A function of the program may call the module again. Each call therefore has its state on the C
 * stack (struct call), and the session knows the innermost one. What the library refuses in a
 * callback, for example to close the session, throws there, and the outer call goes on.
 */
#include <dtrace.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAPI_VERSION 6
#include <node_api.h>

/* A call of the module that has not returned. */
struct call {
	struct session *s;
	struct call *outer; /* NULL: it was not called by a callback */
	napi_value func;    /* the program's function that it calls */
	int walk_result;    /* what its walk answers for each row */
	bool is_failed;	    /* a function of the program has thrown */
};

struct session {
	dtrace_hdl_t *hdl;
	napi_env env;
	napi_ref told;	   /* the function for texts: told(kind, text) */
	struct call *call; /* the innermost one; NULL: none runs */
};

/* ---- values ---------------------------------------------------------------------------------- */

static napi_value value_null(napi_env env)
{
	napi_value v = NULL;

	(void)napi_get_null(env, &v);
	return v;
}

static napi_value value_text(napi_env env, const char *text, size_t len)
{
	napi_value v = NULL;

	if (!text || napi_create_string_utf8(env, text, len, &v) != napi_ok)
		return value_null(env);
	return v;
}

/* A number, as far as numbers hold integers exactly; else a BigInt. */
static napi_value value_int(napi_env env, uint64_t value, bool is_signed)
{
	const int64_t most = (int64_t)1 << 53;
	napi_value v = NULL;

	if (is_signed && (int64_t)value >= -most && (int64_t)value <= most)
		(void)napi_create_int64(env, (int64_t)value, &v);
	else if (is_signed)
		(void)napi_create_bigint_int64(env, (int64_t)value, &v);
	else if (value <= (uint64_t)most)
		(void)napi_create_int64(env, (int64_t)value, &v);
	else
		(void)napi_create_bigint_uint64(env, value, &v);
	return v;
}

static void member_set(napi_env env, napi_value object, const char *name, napi_value value)
{
	(void)napi_set_named_property(env, object, name, value);
}

static napi_value object_create(napi_env env)
{
	napi_value v = NULL;

	(void)napi_create_object(env, &v);
	return v;
}

static napi_value array_create(napi_env env, size_t n)
{
	napi_value v = NULL;

	(void)napi_create_array_with_length(env, n, &v);
	return v;
}

/* Throws an Error with the message, code and hint of the library's last error. */
static napi_value error_throw(napi_env env, dtrace_hdl_t *hdl)
{
	int code = dtrace_errno(hdl);
	const char *hint = dtrace_errhint(hdl);
	napi_value error = NULL;

	(void)napi_create_error(env, NULL,
				value_text(env, dtrace_errmsg(hdl, code), NAPI_AUTO_LENGTH),
				&error);
	member_set(env, error, "errno", value_int(env, (uint64_t)code, true));
	member_set(env, error, "hint", value_text(env, hint, NAPI_AUTO_LENGTH));
	(void)napi_throw(env, error);
	return NULL;
}

/* The text of a frame, however long; NULL if there is no memory. The caller frees it. */
static char *frame_text(struct session *s, const dtrace_frame_t *f)
{
	int len = dtrace_frame2str(s->hdl, f, NULL, 0);
	char *text = malloc((size_t)len + 1);

	if (text)
		(void)dtrace_frame2str(s->hdl, f, text, len + 1);
	return text;
}

static napi_value frames_get(struct session *s, const dtrace_datum_t *d)
{
	napi_value list = array_create(s->env, d->dtd_nframes);

	for (uint32_t i = 0; i < d->dtd_nframes; i++) {
		char *text = frame_text(s, &d->dtd_frames[i]);

		(void)napi_set_element(s->env, list, i, value_text(s->env, text, NAPI_AUTO_LENGTH));
		free(text);
	}
	return list;
}

/* The offset at the end of a name, "+0x1f", or NULL. C++ has functions with a '+' in their name. */
static char *offset_find(char *text)
{
	char *at = strrchr(text, '+');

	if (!at || strncmp(at, "+0x", 3) != 0 || at[3 + strspn(at + 3, "0123456789abcdef")])
		return NULL;
	return at;
}

/* The text of an address as the action that recorded it shows it. */
static napi_value address_get(struct session *s, const dtrace_datum_t *d)
{
	const dtrace_frame_t frame = {.dtf_addr = d->dtd_addr, .dtf_pid = d->dtd_pid};
	char *text = frame_text(s, &frame), *end;
	napi_value value;

	if (!text)
		return value_null(s->env);
	end = d->dtd_kind == DTRACE_DATUM_MOD || d->dtd_kind == DTRACE_DATUM_UMOD
		      ? strchr(text, '`')
	      : d->dtd_kind == DTRACE_DATUM_UADDR ? NULL
						  : offset_find(text);
	value = value_text(s->env, text, end ? (size_t)(end - text) : NAPI_AUTO_LENGTH);
	free(text);
	return value;
}

static napi_value datum_get(struct session *s, const dtrace_datum_t *d)
{
	napi_value v = NULL;

	switch (d->dtd_kind) {
	case DTRACE_DATUM_INT: return value_int(s->env, d->dtd_value, d->dtd_is_signed);
	case DTRACE_DATUM_STRING: return value_text(s->env, d->dtd_bytes, d->dtd_size);
	case DTRACE_DATUM_BYTES:
		(void)napi_create_buffer_copy(s->env, d->dtd_bytes ? d->dtd_size : 0, d->dtd_bytes,
					      NULL, &v);
		return v;
	case DTRACE_DATUM_STACK:
	case DTRACE_DATUM_USTACK: return frames_get(s, d);
	case DTRACE_DATUM_SYM:
	case DTRACE_DATUM_MOD:
	case DTRACE_DATUM_USYM:
	case DTRACE_DATUM_UMOD:
	case DTRACE_DATUM_UADDR: return address_get(s, d);
	}
	return value_null(s->env);
}

/* ---- handles --------------------------------------------------------------------------------- */

/* JavaScript cannot be called here, so text_tell() drops what the library says. */
static void session_finalize(napi_env env, void *data, void *hint)
{
	struct session *s = data;

	(void)hint;
	if (dtrace_close(s->hdl) != 0)
		return; /* the process exits in a callback: the library still uses the session */
	if (s->told)
		(void)napi_delete_reference(env, s->told);
	free(s);
}

/* Calls the program's function for texts; false: it has thrown. */
static bool text_tell(struct session *s, const char *kind, const char *text, size_t len)
{
	napi_value func = NULL, self, args[2];
	napi_handle_scope scope;

	if (!s->call)
		return true;
	(void)napi_open_handle_scope(s->env, &scope);
	(void)napi_get_reference_value(s->env, s->told, &func);
	(void)napi_get_undefined(s->env, &self);
	args[0] = value_text(s->env, kind, NAPI_AUTO_LENGTH);
	args[1] = value_text(s->env, text, len);
	if (napi_call_function(s->env, self, func, 2, args, NULL) != napi_ok)
		s->call->is_failed = true;
	(void)napi_close_handle_scope(s->env, scope);
	return !s->call->is_failed;
}

static int text_handle(const dtrace_bufdata_t *buf, void *arg)
{
	return text_tell(arg, "text", buf->dtbda_buffered, buf->dtbda_len) ? DTRACE_HANDLE_OK
									   : DTRACE_HANDLE_ABORT;
}

static int drop_handle(const dtrace_dropdata_t *drop, void *arg)
{
	return text_tell(arg, "drop", drop->dtdda_msg, NAPI_AUTO_LENGTH) ? DTRACE_HANDLE_OK
									 : DTRACE_HANDLE_ABORT;
}

static int fault_handle(const dtrace_errdata_t *fault, void *arg)
{
	return text_tell(arg, "error", fault->dteda_msg, NAPI_AUTO_LENGTH) ? DTRACE_HANDLE_OK
									   : DTRACE_HANDLE_ABORT;
}

static int notice_handle(dtrace_hdl_t *hdl, const char *msg, void *arg)
{
	(void)hdl;
	return text_tell(arg, "notice", msg, NAPI_AUTO_LENGTH) ? DTRACE_HANDLE_OK
							       : DTRACE_HANDLE_ABORT;
}

static int proc_handle(dtrace_hdl_t *hdl, pid_t pid, const char *msg, void *arg)
{
	(void)pid;
	return notice_handle(hdl, msg, arg);
}

/* open(onlyCompile, told): a handle. */
static napi_value js_open(napi_env env, napi_callback_info info)
{
	size_t argc = 2;
	napi_value args[2], handle = NULL;
	struct session *s = calloc(1, sizeof(*s));
	bool only_compile = false;
	int error;

	(void)napi_get_cb_info(env, info, &argc, args, NULL, NULL);
	(void)napi_get_value_bool(env, args[0], &only_compile);
	if (!s)
		return NULL;
	s->env = env;
	s->hdl = dtrace_open(DTRACE_VERSION, only_compile ? DTRACE_O_NODEV : 0, &error);
	if (!s->hdl) {
		free(s);
		(void)napi_throw_error(env, NULL, dtrace_open_errmsg());
		return NULL;
	}
	(void)napi_create_reference(env, args[1], 1, &s->told);
	(void)dtrace_handle_buffered(s->hdl, text_handle, s);
	(void)dtrace_handle_drop(s->hdl, drop_handle, s);
	(void)dtrace_handle_err(s->hdl, fault_handle, s);
	(void)dtrace_handle_notice(s->hdl, notice_handle, s);
	(void)dtrace_handle_proc(s->hdl, proc_handle, s);
	(void)napi_create_external(env, s, session_finalize, NULL, &handle);
	return handle;
}

#define ARGS_MAX 4

/*
 * Begins a call: finds its session and its arguments. Returns NULL if there is none; then an
 * exception is pending. Else call_end() is to follow.
 */
static struct session *call_begin(napi_env env, napi_callback_info info, struct call *call,
				  napi_value *args)
{
	size_t argc = ARGS_MAX;
	void *data = NULL;
	struct session *s;

	if (napi_get_cb_info(env, info, &argc, args, NULL, NULL) != napi_ok ||
	    napi_get_value_external(env, args[0], &data) != napi_ok || !data) {
		(void)napi_throw_type_error(env, NULL, "this is no consumer");
		return NULL;
	}
	s = data;
	if (!s->hdl) {
		(void)napi_throw_error(env, NULL, "the consumer is closed");
		return NULL;
	}
	s->env = env;
	*call = (struct call){.s = s, .outer = s->call};
	s->call = call;
	return s;
}

/* Ends a call. Its result is undefined, or an exception if the library's result is not 0. */
static napi_value call_end(struct call *call, int result)
{
	struct session *s = call->s;

	s->call = call->outer;
	if (call->is_failed)
		return NULL; /* the exception of the program's function is pending */
	if (result != 0)
		return error_throw(s->env, s->hdl);
	return NULL;
}

/* Copies a string; NULL if the value is none. The caller frees it. */
static char *text_get(napi_env env, napi_value value)
{
	size_t len = 0;
	char *text;

	if (napi_get_value_string_utf8(env, value, NULL, 0, &len) != napi_ok)
		return NULL;
	text = malloc(len + 1);
	if (text)
		(void)napi_get_value_string_utf8(env, value, text, len + 1, &len);
	return text;
}

static napi_value js_close(napi_env env, napi_callback_info info)
{
	napi_value args[ARGS_MAX];
	struct call call;
	struct session *s = call_begin(env, info, &call, args);
	dtrace_hdl_t *hdl;
	int result;

	if (!s)
		return NULL;
	hdl = s->hdl;
	s->hdl = NULL; /* a function that is called while it closes finds it closed */
	result = dtrace_close(hdl);
	if (result != 0)
		s->hdl = hdl;
	return call_end(&call, result);
}

/* setopt(handle, name, value or null) */
static napi_value js_setopt(napi_env env, napi_callback_info info)
{
	napi_value args[ARGS_MAX];
	struct call call;
	struct session *s = call_begin(env, info, &call, args);
	char *name, *value;
	int result;

	if (!s)
		return NULL;
	name = text_get(env, args[1]);
	value = text_get(env, args[2]);
	result = dtrace_setopt(s->hdl, name ? name : "", value);
	free(name);
	free(value);
	return call_end(&call, result);
}

/* strcompile(handle, text, arguments): the number of probes that match. */
static napi_value js_strcompile(napi_env env, napi_callback_info info)
{
	napi_value args[ARGS_MAX], item;
	struct call call;
	struct session *s = call_begin(env, info, &call, args);
	dtrace_proginfo_t found = {0};
	dtrace_prog_t *prog;
	uint32_t n = 0;
	char **argv, *text;
	int result;

	if (!s)
		return NULL;
	(void)napi_get_array_length(env, args[2], &n);
	argv = calloc(n + 2, sizeof(*argv));
	text = text_get(env, args[1]);
	argv[0] = strdup("node");
	for (uint32_t i = 0; i < n; i++) {
		(void)napi_get_element(env, args[2], i, &item);
		argv[i + 1] = text_get(env, item);
	}
	prog = dtrace_program_strcompile(s->hdl, text ? text : "", DTRACE_PROBESPEC_NAME, 0,
					 (int)n + 1, argv);
	result = prog ? dtrace_program_exec(s->hdl, prog, &found) : -1;
	for (uint32_t i = 0; i <= n; i++)
		free(argv[i]);
	free(argv);
	free(text);
	(void)call_end(&call, result);
	return result ? NULL : value_int(env, found.dpi_matches, false);
}

static napi_value js_create(napi_env env, napi_callback_info info)
{
	napi_value args[ARGS_MAX];
	struct call call;
	struct session *s = call_begin(env, info, &call, args);
	char *command;
	int result;

	if (!s)
		return NULL;
	command = text_get(env, args[1]);
	result = dtrace_proc_create(s->hdl, command ? command : "");
	free(command);
	return call_end(&call, result);
}

static napi_value js_grab(napi_env env, napi_callback_info info)
{
	napi_value args[ARGS_MAX];
	struct call call;
	struct session *s = call_begin(env, info, &call, args);
	int32_t pid = -1;

	if (!s)
		return NULL;
	(void)napi_get_value_int32(env, args[1], &pid);
	return call_end(&call, dtrace_proc_grab(s->hdl, pid));
}

static napi_value js_go(napi_env env, napi_callback_info info)
{
	napi_value args[ARGS_MAX];
	struct call call;
	struct session *s = call_begin(env, info, &call, args);
	int result;

	if (!s)
		return NULL;
	result = dtrace_go(s->hdl);
	if (result == 0)
		result = dtrace_proc_continue(s->hdl);
	return call_end(&call, result);
}

/* stop(handle): true if a callback of another call has called it. */
static napi_value js_stop(napi_env env, napi_callback_info info)
{
	napi_value args[ARGS_MAX], is_nested = NULL;
	struct call call;
	struct session *s = call_begin(env, info, &call, args);

	if (!s)
		return NULL;
	(void)call_end(&call, dtrace_stop(s->hdl));
	(void)napi_get_boolean(env, call.outer != NULL, &is_nested);
	return is_nested;
}

/* ---- records --------------------------------------------------------------------------------- */

static napi_value probe_get(struct session *s, const dtrace_probedesc_t *pd)
{
	napi_value probe = object_create(s->env);

	member_set(s->env, probe, "provider",
		   value_text(s->env, pd->dtpd_provider, NAPI_AUTO_LENGTH));
	member_set(s->env, probe, "module", value_text(s->env, pd->dtpd_mod, NAPI_AUTO_LENGTH));
	member_set(s->env, probe, "function", value_text(s->env, pd->dtpd_func, NAPI_AUTO_LENGTH));
	member_set(s->env, probe, "name", value_text(s->env, pd->dtpd_name, NAPI_AUTO_LENGTH));
	return probe;
}

/* Whether an action takes effect or makes text, and therefore has to be left to the library. */
static bool is_effect(dtrace_actkind_t action)
{
	return action == DTRACEACT_EXIT || action == DTRACEACT_PRINTA ||
	       (action >= DTRACEACT_CLEAR && action < DTRACEAGG_COUNT);
}

static napi_value record_get(struct session *s, const dtrace_probedata_t *data,
			     const dtrace_recdesc_t *rec)
{
	napi_value record = object_create(s->env), values;
	uint32_t n = rec->dtrd_size ? rec->dtrd_nvals : 0;

	values = array_create(s->env, n);
	for (uint32_t i = 0; i < n; i++) {
		dtrace_datum_t d;

		if (dtrace_recdata(data, &rec[i], &d) != 0)
			return NULL;
		(void)napi_set_element(s->env, values, i, datum_get(s, &d));
	}
	if (rec->dtrd_action != DTRACEACT_PRINTF && n > 0)
		(void)napi_get_element(s->env, values, 0, &values);
	member_set(s->env, record, "data", values);
	member_set(s->env, record, "format",
		   value_text(s->env, rec->dtrd_format, NAPI_AUTO_LENGTH));
	member_set(s->env, record, "cpu", value_int(s->env, (uint64_t)data->dtpda_cpu, true));
	member_set(s->env, record, "timestamp", value_int(s->env, data->dtpda_timestamp, false));
	return record;
}

static int probe_visit(const dtrace_probedata_t *data, void *arg)
{
	(void)data;
	(void)arg;
	return DTRACE_CONSUME_THIS;
}

static int record_visit(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec, void *arg)
{
	struct call *call = arg;
	struct session *s = call->s;
	napi_handle_scope scope;
	napi_value self, args[2];
	bool is_good = false;

	if (rec && is_effect(rec->dtrd_action))
		return DTRACE_CONSUME_THIS;
	(void)napi_open_handle_scope(s->env, &scope);
	(void)napi_get_undefined(s->env, &self);
	args[0] = probe_get(s, data->dtpda_pdesc);
	args[1] = rec ? record_get(s, data, rec) : self;
	if (args[1])
		is_good = napi_call_function(s->env, self, call->func, 2, args, NULL) == napi_ok;
	call->is_failed |= args[1] && !is_good;
	(void)napi_close_handle_scope(s->env, scope);
	return !is_good ? DTRACE_CONSUME_ERROR : rec ? DTRACE_CONSUME_NEXT : DTRACE_CONSUME_THIS;
}

/* consume(handle, function): false when tracing has ended. */
static napi_value js_consume(napi_env env, napi_callback_info info)
{
	napi_value args[ARGS_MAX], goes_on = NULL;
	struct call call;
	struct session *s = call_begin(env, info, &call, args);
	dtrace_workstatus_t status;

	if (!s)
		return NULL;
	call.func = args[1];
	status = dtrace_work(s->hdl, NULL, probe_visit, record_visit, &call);
	(void)call_end(&call, status == DTRACE_WORKSTATUS_ERROR ? -1 : 0);
	if (call.is_failed || status == DTRACE_WORKSTATUS_ERROR)
		return NULL;
	(void)napi_get_boolean(env, status == DTRACE_WORKSTATUS_OKAY, &goes_on);
	return goes_on;
}

/* ---- aggregations ---------------------------------------------------------------------------- */

/* A histogram: [[min, max], count] for each bucket; null where there is no bound. */
static napi_value buckets_get(napi_env env, const dtrace_aggvalue_t *v)
{
	napi_value list = array_create(env, v->dtav_nbuckets);

	for (uint32_t i = 0; i < v->dtav_nbuckets; i++) {
		const dtrace_bucket_t *b = &v->dtav_buckets[i];
		napi_value pair = array_create(env, 2), range = array_create(env, 2);

		(void)napi_set_element(env, range, 0,
				       b->dtb_min == INT64_MIN
					       ? value_null(env)
					       : value_int(env, (uint64_t)b->dtb_min, true));
		(void)napi_set_element(env, range, 1,
				       b->dtb_max == INT64_MAX
					       ? value_null(env)
					       : value_int(env, (uint64_t)b->dtb_max, true));
		(void)napi_set_element(env, pair, 0, range);
		(void)napi_set_element(env, pair, 1, value_int(env, (uint64_t)b->dtb_count, true));
		(void)napi_set_element(env, list, i, pair);
	}
	return list;
}

static int row_visit(const dtrace_aggdata_t *agg, void *arg)
{
	struct call *call = arg;
	struct session *s = call->s;
	napi_env env = s->env;
	napi_handle_scope scope;
	napi_value self, args[4];
	dtrace_aggvalue_t v;

	if (dtrace_aggvalue(agg, DTRACE_CPUALL, &v) != 0)
		return DTRACE_AGGWALK_ERROR;
	if (v.dtav_is_empty)
		return DTRACE_AGGWALK_NEXT;
	(void)napi_open_handle_scope(env, &scope);
	(void)napi_get_undefined(env, &self);
	args[0] = value_int(env, agg->dtada_desc->dtagd_varid, false);
	args[1] = array_create(env, agg->dtada_nkeys);
	for (uint32_t i = 0; i < agg->dtada_nkeys; i++)
		(void)napi_set_element(env, args[1], i, datum_get(s, &agg->dtada_keys[i]));
	args[2] = v.dtav_action >= DTRACEAGG_QUANTIZE && v.dtav_action <= DTRACEAGG_LLQUANTIZE
			  ? buckets_get(env, &v)
			  : value_int(env, (uint64_t)v.dtav_value, true);
	args[3] = value_text(env, agg->dtada_desc->dtagd_name, NAPI_AUTO_LENGTH);
	call->is_failed |= napi_call_function(env, self, call->func, 4, args, NULL) != napi_ok;
	(void)napi_close_handle_scope(env, scope);
	return call->is_failed ? DTRACE_AGGWALK_ERROR : call->walk_result;
}

/* aggwalk(handle, function, keep): func(varid, keys, value, name); rows are taken out unless keep. */
static napi_value js_aggwalk(napi_env env, napi_callback_info info)
{
	napi_value args[ARGS_MAX];
	struct call call;
	struct session *s = call_begin(env, info, &call, args);
	bool keep = false;
	int result;

	if (!s)
		return NULL;
	(void)napi_get_value_bool(env, args[2], &keep);
	call.func = args[1];
	call.walk_result = keep ? DTRACE_AGGWALK_NEXT : DTRACE_AGGWALK_REMOVE;
	result = dtrace_aggregate_snap(s->hdl);
	if (result == 0)
		result = dtrace_aggregate_walk(s->hdl, row_visit, &call);
	return call_end(&call, result);
}

/* ---- probes ---------------------------------------------------------------------------------- */

static int probe_list(dtrace_hdl_t *hdl, const dtrace_probedesc_t *pd, void *arg)
{
	struct call *call = arg;
	struct session *s = call->s;
	napi_handle_scope scope;
	napi_value self, probe;

	(void)hdl;
	(void)napi_open_handle_scope(s->env, &scope);
	(void)napi_get_undefined(s->env, &self);
	probe = probe_get(s, pd);
	member_set(s->env, probe, "id", value_int(s->env, pd->dtpd_id, false));
	call->is_failed |= napi_call_function(s->env, self, call->func, 1, &probe, NULL) != napi_ok;
	(void)napi_close_handle_scope(s->env, scope);
	return call->is_failed;
}

/* probes(handle, [provider, module, function, name], function) */
static napi_value js_probes(napi_env env, napi_callback_info info)
{
	napi_value args[ARGS_MAX], item;
	struct call call;
	struct session *s = call_begin(env, info, &call, args);
	char *parts[4] = {0};
	dtrace_probedesc_t pd = {0};
	int result;

	if (!s)
		return NULL;
	for (uint32_t i = 0; i < 4; i++)
		if (napi_get_element(env, args[1], i, &item) == napi_ok)
			parts[i] = text_get(env, item);
	pd.dtpd_provider = parts[0] ? parts[0] : "";
	pd.dtpd_mod = parts[1] ? parts[1] : "";
	pd.dtpd_func = parts[2] ? parts[2] : "";
	pd.dtpd_name = parts[3] ? parts[3] : "";
	call.func = args[2];
	result = dtrace_probe_iter(s->hdl, &pd, probe_list, &call);
	for (uint32_t i = 0; i < 4; i++)
		free(parts[i]);
	return call_end(&call, result < 0 ? -1 : 0);
}

static napi_value js_exit_status(napi_env env, napi_callback_info info)
{
	napi_value args[ARGS_MAX];
	struct call call;
	struct session *s = call_begin(env, info, &call, args);
	int status = s ? dtrace_exit_status(s->hdl) : -1;

	if (s)
		(void)call_end(&call, 0);
	return status < 0 ? value_null(env) : value_int(env, (uint64_t)status, true);
}

NAPI_MODULE_INIT()
{
	static const struct {
		const char *name;
		napi_callback func;
	} funcs[] = {
		{"open", js_open},	 {"close", js_close},
		{"setopt", js_setopt},	 {"strcompile", js_strcompile},
		{"create", js_create},	 {"grab", js_grab},
		{"go", js_go},		 {"stop", js_stop},
		{"consume", js_consume}, {"aggwalk", js_aggwalk},
		{"probes", js_probes},	 {"exitStatus", js_exit_status},
	};

	for (size_t i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++) {
		napi_value f;

		(void)napi_create_function(env, funcs[i].name, NAPI_AUTO_LENGTH, funcs[i].func,
					   NULL, &f);
		member_set(env, exports, funcs[i].name, f);
	}
	return exports;
}
