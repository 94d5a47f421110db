/* SPDX-License-Identifier: MIT */
/* The providers, in the order in which they are asked and listed. */
#include "provider/arrivals.h"
#include "provider/providers.h"

const struct provider *const provider_list[] = {
	&provider_dtrace,
	&provider_profile,
	&provider_syscall,
	&provider_rawtp,
	&provider_sdt,
	&provider_fbt,
	&provider_cpc,
	&provider_pid,
	&provider_usdt,
	/* the last: names that others have are not looked for in the D library */
	&provider_declared,
	NULL,
};

const struct provider_arrivals *const provider_arrivals[] = {
	&pid_arrivals, &usdt_arrivals, &fbt_arrivals, &sdt_arrivals, &rawtp_arrivals, NULL,
};

void arrivals_keep(struct provider_env *env, uint32_t batch, bool keeps_names)
{
}
