/* SPDX-License-Identifier: MIT */
/*
 * Finds windows at first instructions of functions that breakpoints of other tools hide.
 *
 * At a breakpoint the kernel executes what the file has there, so the stub is not reached. When the
 * breakpoint goes, the kernel writes the file's first byte back. A jump of the form of ours has the
 * same byte as our jump, which is whole again then. A return has another one: the return is back,
 * and the other bytes of our jump are in padding that nobody executes.
 *
 * It also finds breakpoints that windows hide: nobody executes a tail (struct flow_tail), of which
 * the stubs have copies. One that is there before is found when the code is compared with the file.
 */
#include <inttypes.h>
#include <sys/uio.h>

#include "arch/patch.h"
#include "base/text.h"
#include "inproc/impl.h"

#define RETURN 0xc3 /* Intel SDM vol. 2B, RET */

#define ADDRS_AT_ONCE 256u

/* Counts those of the addresses that have a byte. */
static uint32_t bytes_count(pid_t pid, const taddr *addrs, uint32_t n, uint8_t byte)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i += ADDRS_AT_ONCE) {
		struct iovec ours[ADDRS_AT_ONCE], theirs[ADDRS_AT_ONCE];
		uint8_t bytes[ADDRS_AT_ONCE];
		uint32_t some = MIN(n - i, ADDRS_AT_ONCE);

		memset(bytes, (uint8_t)~byte, sizeof(bytes));
		for (uint32_t k = 0; k < some; k++) {
			ours[k] = (struct iovec){&bytes[k], 1};
			theirs[k] = (struct iovec){(void *)(uintptr_t)addrs[i + k], 1};
		}
		(void)process_vm_readv(pid, ours, some, theirs, some, 0); /* it may have ended */
		for (uint32_t k = 0; k < some; k++)
			found += bytes[k] == byte;
	}
	return found;
}

bool inproc_jumps_hidden(pid_t pid, const taddr *addrs, uint32_t n, struct strbuf *ret)
{
	uint32_t found = n ? bytes_count(pid, addrs, n, arch_patch->breakpoint) : 0;

	if (!found)
		return false;
	strbuf_clear(ret);
	strbuf_addf(ret,
		    "another tracer or debugger has breakpoints on %" PRIu32
		    " function%s of process %d that begin%s with a jump: meanwhile %s probes do "
		    "not fire (-x inproc=off)",
		    found, PLURAL(found), (int)pid, WORD_FOR(found, "s", ""),
		    WORD_FOR(found, "its", "their"));
	return true;
}

bool inproc_returns_lost(pid_t pid, const taddr *addrs, uint32_t n, struct strbuf *ret)
{
	uint32_t found = 0;

	if (n)
		found = bytes_count(pid, addrs, n, arch_patch->breakpoint) +
			bytes_count(pid, addrs, n, RETURN);
	if (!found)
		return false;
	strbuf_clear(ret);
	strbuf_addf(ret,
		    "another tracer or debugger has put breakpoints on %" PRIu32
		    " function%s of process %d that %s nothing but a return: %s probes do not "
		    "fire any more (-x inproc=off)",
		    found, PLURAL(found), (int)pid, WORD_FOR(found, "is", "are"),
		    WORD_FOR(found, "its", "their"));
	return true;
}

bool inproc_tails_hidden(pid_t pid, const taddr *addrs, uint32_t n, struct strbuf *ret)
{
	if (!n || !bytes_count(pid, addrs, n, arch_patch->breakpoint))
		return false;
	strbuf_clear(ret);
	strbuf_addf(ret,
		    "another tracer or debugger has put breakpoints before returns of process %d "
		    "that are probed here by jumps around them: its breakpoints there are not "
		    "reached meanwhile (-x inproc=off)",
		    (int)pid);
	return true;
}
