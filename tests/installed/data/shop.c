/* SPDX-License-Identifier: MIT */
#include "shop.h"

int main(void)
{
	for (int i = 4; i < 7; i++)
		if (SHOP_SALE_ENABLED())
			SHOP_SALE("tea", i);
	return 0;
}
