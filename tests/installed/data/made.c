/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <usdt.h>

int main(void)
{
	const char *types[] = {"char *", "int"};
	usdt_provider_t *shop = usdt_create_provider("shop", "server");
	usdt_probedef_t *sale = usdt_create_probe("sell", "sale", 2, types);
	void *args[] = {(void *)"tea", (void *)(intptr_t)4};

	if (usdt_provider_add_probe(shop, sale) || usdt_provider_enable(shop))
		return 1;
	usdt_fire_probe(sale->probe, 2, args);
	return 0;
}
