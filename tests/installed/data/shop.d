/* SPDX-License-Identifier: MIT */
provider shop {
	probe sale(char *, int);
};
