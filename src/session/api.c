/* SPDX-License-Identifier: MIT */
/*
 * The public calls that a program makes while it consumes: values of records, walks over
 * aggregations, names of addresses. render/ does the work.
 */
#include "session/in_process.h"
#include "session/session.h"
#include "session/sized.h"
#include "sym/sym.h"

/* ---- records -------------------------------------------------------------------------------- */

int dtrace_recdata(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec,
		   dtrace_datum_t *ret_datum)
{
	dtrace_hdl_t *h = data->dtpda_handle;

	return session_result(h, printer_recdata(h->consumer.printer, data, rec, ret_datum));
}

/* ---- aggregations --------------------------------------------------------------------------- */

int dtrace_aggregate_snap(dtrace_hdl_t *dtp)
{
	struct err *e;

	if (!dtp->consumer.printer)
		return 0;
	e = session_check_idle(dtp, "dtrace_aggregate_snap()");
	SESSION_CALL(dtp);
	return session_result(dtp, e ? e : consumer_snap(&dtp->consumer));
}

int dtrace_aggregate_clear(dtrace_hdl_t *dtp)
{
	struct err *e;

	if (!dtp->consumer.printer)
		return 0;
	e = session_check_idle(dtp, "dtrace_aggregate_clear()");
	for (uint32_t id = 1; id <= dtp->match.layout->naggs && !e; id++)
		e = aggs_clear(dtp->consumer.aggs, id);
	return session_result(dtp, e);
}

static int walk_in(dtrace_hdl_t *dtp, enum walk_order order, dtrace_aggregate_f *func, void *arg)
{
	SESSION_CALL(dtp);

	if (!dtp->consumer.printer)
		return 0;
	if (!printer_in_callback(dtp->consumer.printer))
		consumer_set_callbacks(&dtp->consumer, NULL, NULL, NULL);
	return session_result(dtp, printer_walk(dtp->consumer.printer, order, func, arg));
}

#define WALK(name, order)                                                                          \
	int dtrace_aggregate_walk##name(dtrace_hdl_t *dtp, dtrace_aggregate_f *func, void *arg)    \
	{                                                                                          \
		return walk_in(dtp, order, func, arg);                                             \
	}
WALK(, WALK_AS_READ)
WALK(_sorted, WALK_BY_OPTIONS)
WALK(_keysorted, WALK_KEY)
WALK(_keyrevsorted, WALK_KEY_REV)
WALK(_valsorted, WALK_VALUE)
WALK(_valrevsorted, WALK_VALUE_REV)
WALK(_keyvarsorted, WALK_KEY_ID)
WALK(_keyvarrevsorted, WALK_KEY_ID_REV)
#undef WALK

int dtrace_aggregate_walk_joined(dtrace_hdl_t *dtp, const dtrace_aggid_t *varids, int naggs,
				 dtrace_aggregate_walk_joined_f *func, void *arg)
{
	SESSION_CALL(dtp);

	if (!dtp->consumer.printer || naggs <= 0)
		return 0;
	if (!printer_in_callback(dtp->consumer.printer))
		consumer_set_callbacks(&dtp->consumer, NULL, NULL, NULL);
	return session_result(dtp, printer_walk_joined(dtp->consumer.printer, varids,
						       (uint32_t)naggs, func, arg));
}

dtrace_aggid_t dtrace_aggregate_lookup(dtrace_hdl_t *dtp, const char *name)
{
	uint32_t n = dtp->consumer.printer ? dtp->match.layout->naggs : 0;

	for (uint32_t i = 0; i < n; i++)
		if (strcmp(dtp->match.layout->aggs[i].agg->name, name) == 0)
			return dtp->match.layout->aggs[i].agg->id;
	(void)report_fail(&dtp->report,
			  err_code(err_new("there is no aggregation '@%s'", name), EDT_NOAGG));
	return 0;
}

int dtrace_aggvalue_sized(const dtrace_aggdata_t *agg, int cpu, dtrace_aggvalue_t *ret_value,
			  size_t size)
{
	dtrace_aggvalue_t value;
	struct err *e = printer_aggvalue(agg, cpu, &value);

	if (!e)
		sized_copy(ret_value, size, &value, sizeof(value));
	return session_result(agg->dtada_handle, e);
}

int dtrace_aggregate_print(dtrace_hdl_t *dtp, FILE *fp, dtrace_aggregate_walk_f *walk)
{
	struct err *e = session_check_idle(dtp, "dtrace_aggregate_print()");
	SESSION_CALL(dtp);

	return session_result(dtp, e ? e : consumer_print_aggs(&dtp->consumer, fp, walk));
}

int dtrace_output_end(dtrace_hdl_t *dtp, FILE *fp)
{
	struct err *e = session_check_idle(dtp, "dtrace_output_end()");
	SESSION_CALL(dtp);

	return session_result(dtp, e ? e : consumer_end_output(&dtp->consumer, fp));
}

/* ---- names of addresses --------------------------------------------------------------------- */

int dtrace_frame_lookup_sized(dtrace_hdl_t *dtp, const dtrace_frame_t *frame,
			      dtrace_syminfo_t *ret_info, size_t size)
{
	dtrace_syminfo_t info;
	struct sym_name name;
	SESSION_CALL(dtp);

	if (!print_frame_find(names_syms(&dtp->names), &dtp->consumer.print_opts, frame, &name) ||
	    !name.object)
		return session_result(dtp,
				      err_code(err_new("no symbol corresponds to address 0x%llx",
						       (unsigned long long)frame->dtf_addr),
					       EDT_NOSYMADDR));
	info = (dtrace_syminfo_t){
		.dts_object = name.object,
		.dts_name = name.name,
		.dts_offset = name.name ? name.off : 0,
		.dts_file_addr = name.has_file_addr ? name.file_addr : 0,
		.dts_has_file_addr = name.has_file_addr,
	};
	sized_copy(ret_info, size, &info, sizeof(info));
	return 0;
}

int dtrace_lookup_by_addr_sized(dtrace_hdl_t *dtp, uint64_t addr, dtrace_syminfo_t *ret_info,
				size_t size)
{
	return dtrace_frame_lookup_sized(dtp, &(dtrace_frame_t){.dtf_addr = addr}, ret_info, size);
}

int dtrace_ulookup_by_addr_sized(dtrace_hdl_t *dtp, pid_t pid, uint64_t addr,
				 dtrace_syminfo_t *ret_info, size_t size)
{
	return dtrace_frame_lookup_sized(dtp, &(dtrace_frame_t){.dtf_addr = addr, .dtf_pid = pid},
					 ret_info, size);
}

int dtrace_frame2str(dtrace_hdl_t *dtp, const dtrace_frame_t *frame, char *buf, int len)
{
	struct strbuf text = {0};
	int whole;
	SESSION_CALL(dtp);

	print_frame_text(names_syms(&dtp->names), &dtp->consumer.print_opts, frame, &text);
	whole = (int)text.len;
	if (len > 0)
		(void)snprintf(buf, (size_t)len, "%s", strbuf_text(&text));
	strbuf_deinit(&text);
	return whole;
}

int dtrace_addr2str(dtrace_hdl_t *dtp, uint64_t addr, char *buf, int len)
{
	return dtrace_frame2str(dtp, &(dtrace_frame_t){.dtf_addr = addr}, buf, len);
}

int dtrace_uaddr2str(dtrace_hdl_t *dtp, pid_t pid, uint64_t addr, char *buf, int len)
{
	return dtrace_frame2str(dtp, &(dtrace_frame_t){.dtf_addr = addr, .dtf_pid = pid}, buf, len);
}

/* ---- for commands of ours -------------------------------------------------------------------- */

bool session_is_all_inproc(const dtrace_hdl_t *dtp, const char *agg)
{
	return live_is_all_inproc(&dtp->live, agg);
}
