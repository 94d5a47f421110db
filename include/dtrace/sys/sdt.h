/* SPDX-License-Identifier: MIT */
/* With -I/usr/include/dtrace programs that include <sys/sdt.h> find the macros of dtrace(8). */
#include "../sdt.h"
