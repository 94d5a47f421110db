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

const struct provider_come *const provider_comes[] = {&pid_come, &usdt_come,  &fbt_come,
						      &sdt_come, &rawtp_come, NULL};
