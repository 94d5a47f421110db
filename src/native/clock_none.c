/* SPDX-License-Identifier: MIT */
/* Machines on whose counter the process could not compute the time: no clause runs there. */
#include "native/data_impl.h"

void clock_init(struct ndata *d)
{
}

void clock_copy(struct ndata *to, const struct ndata *from, struct blob_data *head)
{
}

struct err *clock_start(struct ndata *d)
{
	return ndata_clock_correct(d);
}

struct err *ndata_clock_correct(struct ndata *d)
{
	return err_new("a process on this machine cannot read the time by itself");
}

bool ndata_clock_usable(const char **ret_why)
{
	*ret_why = "it notes the time, which no process can read by itself here";
	return false;
}
