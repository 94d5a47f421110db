/* SPDX-License-Identifier: MIT */
/*
 * Provider io: block devices get transfers, and complete them.
 *
 * A transfer is a struct request. Devices without requests of their own (zram, device-mapper, md, ramdisks) get the
 * struct bio itself, and pass it on to the devices below them: each layer has its own start and done. The address of
 * either is arg0 of both probes.
 */
#pragma D depends_on library io.d

/*
 * What a driver is asked on its own account (REQ_OP_DRV_IN, REQ_OP_DRV_OUT) is no transfer, and blocks that a file system
 * gives up (REQ_OP_DISCARD, REQ_OP_SECURE_ERASE) are none either.
 */
inline int __moves_data[uint32_t OP] = OP < 34 && OP != 3 && OP != 5;
inline int __is_transfer[struct request *R] = __moves_data[R->cmd_flags & 0xff];
inline int __is_bio_device[struct bio *B] =
	B->bi_bdev->bd_disk->fops->submit_bio != NULL && __moves_data[B->bi_opf & 0xff];

self uintptr_t __waited_for;
int __inserted[struct request *];

provider io {
	/*
	 * Linux 6.5. Before, a thread of the kernel often gives the driver what another thread has asked for, but it is the latter
	 * that queues the request; a request that is not queued is given to the driver by who asks.
	 */
	probe start(void *t) : (bufinfo_t *t, devinfo_t *t, fileinfo_t *t)
		= rawtp:::block_io_start /__is_transfer[args[0]]/ (args[0]),
		  rawtp:::block_bio_queue /__is_bio_device[args[0]]/ (args[0])
		|| rawtp:::block_rq_insert
			/__is_transfer[args[0]] && args[0]->bio != NULL && (__inserted[args[0]] = 1)/ (args[0]),
		  rawtp:::block_rq_issue
			/__is_transfer[args[0]] && args[0]->bio != NULL &&
				(__inserted[args[0]] ? (__inserted[args[0]] = 0) : 1)/ (args[0]),
		  rawtp:::block_bio_queue /__is_bio_device[args[0]]/ (args[0]);

	/*
	 * The last part of a request. What flushes the device's cache around it has no bio; the request then ends a second
	 * time, without data that its bio has.
	 */
	probe done(void *t) : (bufinfo_t *t, devinfo_t *t, fileinfo_t *t)
		= rawtp:::block_rq_complete
			/__is_transfer[args[0]] && args[0]->bio != NULL && args[2] == args[0]->__data_len &&
				(args[2] != 0 || args[0]->bio->bi_io_vec == NULL)/
			((this->__status = args[1], (struct __done_request *)args[0])),
		  rawtp:::block_bio_complete /__is_bio_device[args[1]]/ ((struct __done_bio *)args[1]);

	/* a file system, or the kernel on its account, waits for a bio of its own; waits for pages are not told apart from others */
	probe wait__start(void *t) : (bufinfo_t *t, devinfo_t *t, fileinfo_t *t)
		= fbt:vmlinux:submit_bio_wait:entry ((struct bio *)arg0)
		|| "no tracepoint of Linux says that a thread waits for a transfer: sched:::sleep with stack() shows where threads wait, io:::start and io:::done how long a transfer takes";
	probe wait__done(void *t) : (bufinfo_t *t, devinfo_t *t, fileinfo_t *t)
		= fbt:vmlinux:submit_bio_wait:entry /(self->__waited_for = arg0, 0)/ ((struct bio *)arg0),
		  fbt:vmlinux:submit_bio_wait:return /self->__waited_for != 0/ ((struct bio *)self->__waited_for)
		|| "no tracepoint of Linux says that a thread waits for a transfer: sched:::on-cpu with stack() shows where threads have waited, io:::start and io:::done how long a transfer takes";
};

#pragma D attributes Evolving/Evolving/ISA provider io provider
#pragma D attributes Private/Private/Unknown provider io module
#pragma D attributes Private/Private/Unknown provider io function
#pragma D attributes Evolving/Evolving/ISA provider io name
#pragma D attributes Evolving/Evolving/ISA provider io args
