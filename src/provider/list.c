/* SPDX-License-Identifier: MIT */
/* The lists of providers (providers.def). */
#include "provider/arrivals.h"
#include "provider/providers.h"

const struct provider *const provider_list[] = {
#define PROVIDER(name, nids) &provider_##name,
#define ARRIVALS(name)
#include "provider/providers.def"
#undef PROVIDER
#undef ARRIVALS
	NULL,
};

const struct provider *const provider_list_remains[] = {&provider_dtrace, &provider_remains, NULL};

const struct provider_arrivals *const provider_arrivals[] = {
#define PROVIDER(name, nids)
#define ARRIVALS(name) &name##_arrivals,
#include "provider/providers.def"
#undef PROVIDER
#undef ARRIVALS
	NULL,
};

void arrivals_keep(struct provider_env *env, uint32_t batch, bool keeps_names)
{
}
