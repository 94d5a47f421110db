/* SPDX-License-Identifier: MIT */
/*
 * Packets of pcap(): writes them to a capture file if freopen() has named one, else dumps them.
 *
 * Facts    the format is that of pcap-savefile(5), with times in ns, in this machine's byte order.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "render/impl.h"

#define PCAP_MAGIC_NS 0xa1b23c4du
#define PCAP_MAJOR    2
#define PCAP_MINOR    4
#define NS_PER_SEC    1000000000

struct pcap_file {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zero[2];
	uint32_t snaplen, link;
};

struct pcap_packet {
	uint32_t sec, ns;
	uint32_t caplen, len;
};

/* Types of links have the numbers of capture files, except for packets without a link header. */
enum { PROTO_IP = 12, LINK_RAW = 101, LINK_MAX = 0xffff };

struct packet {
	uint32_t link;
	uint32_t caplen, len;
	const char *bytes;
};

/* ---- files --------------------------------------------------------------------------------- */

/* Reads the header of a capture file; false: the file has none. */
static bool header_read(FILE *file, struct pcap_file *ret_head)
{
	char path[64];
	ssize_t got;
	int fd;

	/* opened again, because the file is open for writing only */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	got = pread(fd, ret_head, sizeof(*ret_head), 0);
	(void)close(fd); /* nothing was written */
	return got == (ssize_t)sizeof(*ret_head) && ret_head->magic == PCAP_MAGIC_NS;
}

static struct err *header_write(FILE *file, uint32_t snaplen, uint32_t link)
{
	struct pcap_file head = {PCAP_MAGIC_NS, PCAP_MAJOR, PCAP_MINOR, {0}, snaplen, link};

	if (fwrite(&head, sizeof(head), 1, file) != 1)
		return err_sys(errno, "failed to write to freopen() file");
	return NULL;
}

/* Makes a capture file of an empty file of freopen(), or finds that it is a capture file. */
static struct err *capture_begin(struct printer *p, uint32_t snaplen, uint32_t link)
{
	struct pcap_file head;
	struct stat st;
	struct err *e = printer_flush(p, p->fp);

	if (e)
		return e;
	if (fstat(fileno(p->redirect), &st) != 0)
		return err_sys(errno, "couldn't pcap() to the file of freopen()");
	if (st.st_size == 0) {
		e = header_write(p->redirect, snaplen, link);
		head.link = link;
	} else if (!header_read(p->redirect, &head)) {
		printer_fault(p, err_new("couldn't pcap() to the file of freopen(): it holds other "
					 "things than packets (option quiet keeps lines out)"));
		return NULL;
	}
	if (e)
		return e;
	p->capture_link = head.link;
	p->is_capture = true;
	return NULL;
}

static struct err *capture_add(struct printer *p, const struct packet *packet)
{
	uint64_t wall = p->rec->time + (uint64_t)p->wall_offset;
	struct pcap_packet head = {(uint32_t)(wall / NS_PER_SEC), (uint32_t)(wall % NS_PER_SEC),
				   packet->caplen, packet->len};

	if (p->capture_link != packet->link) {
		printer_fault(p, err_new("couldn't pcap() to the file of freopen(): it holds "
					 "packets of link type %u, not %u",
					 p->capture_link, packet->link));
		return NULL;
	}
	if (fwrite(&head, sizeof(head), 1, p->redirect) != 1 ||
	    (packet->caplen && fwrite(packet->bytes, packet->caplen, 1, p->redirect) != 1))
		return err_sys(errno, "failed to write to freopen() file");
	return NULL;
}

/* ---- the action ---------------------------------------------------------------------------- */

static struct err *packet_get(struct printer *p, const struct act_layout *al, struct packet *ret)
{
	struct datum d[PCAP_ARG_DATA + 1];
	uint32_t linear, proto;

	for (uint32_t i = 0; i < ARRAY_LEN(d); i++) {
		struct err *e = act_datum(p, al, i, &d[i]);

		if (e)
			return e;
	}
	linear = (uint32_t)datum_int(&d[PCAP_ARG_LINEAR]);
	proto = (uint32_t)datum_int(&d[PCAP_ARG_PROTO]);
	ret->link = proto == PROTO_IP ? LINK_RAW : proto;
	ret->bytes = d[PCAP_ARG_DATA].bytes;
	ret->caplen = ret->bytes ? MIN(linear, d[PCAP_ARG_DATA].size) : 0;
	ret->len = MAX((uint32_t)datum_int(&d[PCAP_ARG_LEN]), ret->caplen);
	return NULL;
}

struct err *print_packet(struct printer *p, const struct prog_act *act, const struct act_layout *al)
{
	struct packet packet;
	struct err *e = packet_get(p, al, &packet);

	if (e)
		return e;
	if (!p->redirect) {
		p->render->memory(p, "pcap",
				  &(struct datum){.kind = DATUM_BYTES,
						  .bytes = packet.bytes,
						  .size = packet.caplen});
		return NULL;
	}
	if (packet.link > LINK_MAX) {
		printer_fault(p, err_new("couldn't pcap(): there is no link type %d",
					 (int)packet.link));
		return NULL;
	}
	if (!p->is_capture)
		e = capture_begin(p, act->memory.size, packet.link);
	return e || !p->is_capture ? e : capture_add(p, &packet);
}
