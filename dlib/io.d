/* SPDX-License-Identifier: MIT */
/*
 * Files and block devices: fileinfo_t, fds[], bufinfo_t, devinfo_t.
 *
 * A transfer is described by its struct bio, or by the struct request it is part of.
 */
#pragma D depends_on library path.d
#pragma D depends_on library drivers.d

inline int B_BUSY = 0x1;
inline int B_DONE = 0x2;
inline int B_ERROR = 0x4;
inline int B_PAGEIO = 0x10;
inline int B_PHYS = 0x20;
inline int B_READ = 0x40;
inline int B_WRITE = 0x100;
inline int B_ASYNC = 0x400;

/* ---- files ---- */

typedef struct fileinfo {
	string fi_name;      /* last component of the path */
	string fi_dirname;
	string fi_pathname;
	loff_t fi_offset;
	string fi_fs;        /* type of the file system */
	string fi_mount;     /* where that is mounted */
	int fi_oflags;       /* O_*, of an open file */
} fileinfo_t;

/* pipes and some sockets have no name */
inline string __entry_name[struct dentry *D] =
	D->d_name.len == 0 ? "<unknown>" : stringof(D->d_name.name);

/* this->__file holds the file while a member is made: what it came from is evaluated once. */
translator fileinfo_t <struct file *F> {
	fi_name = (this->__file = F, this->__file == NULL ? "<none>" :
		   __entry_name[this->__file->f_path.dentry]);
	fi_dirname = (this->__file = F, this->__file == NULL ? "<none>" :
		      this->__file->f_path.dentry->d_name.len == 0 ? "<unknown>" :
		      dirname(d_path(&this->__file->f_path)));
	fi_pathname = (this->__file = F, this->__file == NULL ? "<none>" :
		       this->__file->f_path.dentry->d_name.len == 0 ? "<unknown>" :
		       d_path(&this->__file->f_path));
	fi_offset = (this->__file = F, this->__file == NULL ? 0 : this->__file->f_pos);
	fi_fs = (this->__file = F, this->__file == NULL ? "<none>" :
		 stringof(this->__file->f_inode->i_sb->s_type->name));
	fi_mount = (this->__file = F, this->__file == NULL ? "<none>" :
		    __mount_path[this->__file->f_path.mnt]);
	fi_oflags = (this->__file = F, this->__file == NULL ? 0 : this->__file->f_flags);
};

inline fileinfo_t fds[int N] = xlate<fileinfo_t>(getf(N));

/* ---- devices ---- */

typedef struct devinfo {
	int dev_major;
	int dev_minor;
	int dev_instance;
	string dev_name;     /* of the driver */
	string dev_statname; /* sda1 */
	string dev_pathname; /* /dev/sda1 */
	string device_name;  /* FreeBSD's names: the disk, sda, */
	int unit_number;     /* and the partition, 1; 0 is the whole disk */
} devinfo_t;

inline int __part_number[struct block_device *D] = __either(D->bd_partno, D->__bd_flags.counter & 0xff);

/* sda1, but nvme0n1p1: a 'p' stands between two digits. this->__dev is the device. */
inline string __disk_name[struct block_device *D] =
	(this->__name = stringof(D->bd_disk->disk_name), this->__name);
inline string __name_tail[string S] =
	(this->__tail = substr(S, strlen(S) - 1), this->__tail >= "0" && this->__tail <= "9" ? "p" : "");
inline string __device_name[struct block_device *D] =
	(this->__dev = D, this->__dev == NULL ? "<none>" :
	 this->__dev == this->__dev->bd_disk->part0 ? stringof(this->__dev->bd_disk->disk_name) :
	 strjoin(strjoin(__disk_name[this->__dev], __name_tail[this->__name]),
		 lltostr(__part_number[this->__dev])));
inline dev_t __device_number[struct block_device *D] =
	(this->__dev = D, this->__dev == NULL ? 0 : this->__dev->bd_dev);
inline string __device_driver[struct block_device *D] =
	(this->__dev = D, this->__dev == NULL ? "<none>" : __block_driver[getmajor(this->__dev->bd_dev)]);

translator devinfo_t <struct block_device *D> {
	dev_major = getmajor(__device_number[D]);
	dev_minor = getminor(__device_number[D]);
	dev_instance = 0;
	dev_name = __device_driver[D];
	dev_statname = __device_name[D];
	dev_pathname = D == NULL ? "<none>" : strjoin("/dev/", __device_name[D]);
	device_name = D == NULL ? "<none>" : stringof(D->bd_disk->disk_name);
	unit_number = D == NULL ? 0 : __part_number[D];
};

translator devinfo_t <struct bio *B> {
	dev_major = xlate<devinfo_t>(B->bi_bdev).dev_major;
	dev_minor = xlate<devinfo_t>(B->bi_bdev).dev_minor;
	dev_instance = 0;
	dev_name = xlate<devinfo_t>(B->bi_bdev).dev_name;
	dev_statname = xlate<devinfo_t>(B->bi_bdev).dev_statname;
	dev_pathname = xlate<devinfo_t>(B->bi_bdev).dev_pathname;
	device_name = xlate<devinfo_t>(B->bi_bdev).device_name;
	unit_number = xlate<devinfo_t>(B->bi_bdev).unit_number;
};

/* before it is completed, a request of a partition may be known by its first bio only */
inline struct block_device *__request_device[struct request *R] =
	R->part != NULL ? R->part : R->bio != NULL ? R->bio->bi_bdev : NULL;

translator devinfo_t <struct request *R> {
	dev_major = xlate<devinfo_t>(__request_device[R]).dev_major;
	dev_minor = xlate<devinfo_t>(__request_device[R]).dev_minor;
	dev_instance = 0;
	dev_name = xlate<devinfo_t>(__request_device[R]).dev_name;
	dev_statname = xlate<devinfo_t>(__request_device[R]).dev_statname;
	dev_pathname = xlate<devinfo_t>(__request_device[R]).dev_pathname;
	device_name = xlate<devinfo_t>(__request_device[R]).device_name;
	unit_number = xlate<devinfo_t>(__request_device[R]).unit_number;
};

/* ---- transfers ---- */

typedef char *caddr_t;

typedef struct bufinfo {
	int b_flags;         /* B_* */
	size_t b_bcount;     /* bytes */
	caddr_t b_addr;
	uint64_t b_blkno;    /* in units of 512 bytes */
	uint64_t b_lblkno;
	size_t b_resid;
	size_t b_bufsize;
	caddr_t b_iodone;    /* function called at the end */
	int b_error;
	dev_t b_edev;
} bufinfo_t;

/* The page a transfer begins in; of a page made of several, the first. this->__page is that page. */
inline struct page *__bio_page[struct bio *B] =
	B == NULL || B->bi_io_vec == NULL || B->bi_iter.bi_size == 0 ? NULL :
	B->bi_io_vec[B->bi_iter.bi_idx].bv_page;
inline struct page *__page_head[struct page *P] =
	(this->__page = P, this->__page != NULL && this->__page->compound_head & 1 ?
	 (struct page *)(this->__page->compound_head - 1) : this->__page);
inline uintptr_t __bio_page_mapping[struct bio *B] =
	(this->__page = __page_head[__bio_page[B]],
	 this->__page == NULL ? 0 : (uintptr_t)this->__page->mapping);
/*
 * The file, or the device, of which a page is. Pages of a file system without a device, as shared memory is one, are a
 * program's buffer for a direct transfer, and no pages of a file that is read or written.
 */
inline uintptr_t __device_mapping[uintptr_t M] =
	(this->__mapping = M,
	 this->__mapping == 0 || this->__mapping & 3 ? this->__mapping :
	 (this->__host = ((struct address_space *)this->__mapping)->host,
	  this->__host == NULL || (this->__host->i_mode & 0170000) == 0060000 || this->__host->i_sb->s_bdev != NULL ?
	  this->__mapping : 0));
inline uintptr_t __bio_mapping[struct bio *B] = __device_mapping[__bio_page_mapping[B]];

/* odd numbers of operations write: Linux include/linux/blk_types.h. A mapping with bit 0 is of no file. */
inline int __transfer_flags[uint32_t F, struct bio *B] =
	(this->__mapping = __bio_mapping[B],
	 (F & 1 ? B_WRITE : B_READ) |
	 (F & 1 && !(F & 1 << __REQ_SYNC) ? B_ASYNC : 0) |
	 (this->__mapping == 0 || this->__mapping & 1 ? B_PHYS : B_PAGEIO));

/* block/blk-core.c, blk_errors[] */
inline int __block_error[int S] =
	S == 0 ? 0 : S == 1 ? 95 : S == 2 ? 110 : S == 3 ? 28 : S == 4 ? 67 : S == 5 ? 121 : S == 6 ? 52 :
	S == 7 ? 61 : S == 8 ? 84 : S == 9 ? 12 : S == 12 ? 11 : 5;

translator bufinfo_t <struct bio *B> {
	b_flags = __transfer_flags[B->bi_opf, B] | (B->bi_status ? B_ERROR : 0);
	b_bcount = B->bi_iter.bi_size;
	b_addr = 0;
	b_blkno = B->bi_iter.bi_sector;
	b_lblkno = B->bi_iter.bi_sector;
	b_resid = 0;
	b_bufsize = B->bi_iter.bi_size;
	b_iodone = (caddr_t)B->bi_end_io;
	b_error = __block_error[B->bi_status];
	b_edev = __device_number[B->bi_bdev];
};

translator bufinfo_t <struct request *R> {
	b_flags = __transfer_flags[R->cmd_flags, R->bio];
	b_bcount = R->__data_len;
	b_addr = 0;
	b_blkno = R->__sector;
	b_lblkno = R->__sector;
	b_resid = 0;
	b_bufsize = R->__data_len;
	b_iodone = (caddr_t)R->end_io;
	b_error = 0;
	b_edev = __device_number[__request_device[R]];
};

/*
 * A transfer at its end: the same request, or the same bio, under a type of its own. The status of a request is no member
 * of it, and stands in this->__status.
 */
this int __status;
struct __done_request {
	struct request *__no_member;
};
struct __done_bio {
	struct bio *__no_member;
};
inline struct request *__done_rq[struct __done_request *D] = (struct request *)D;
inline struct bio *__done_bio_of[struct __done_bio *D] = (struct bio *)D;

translator bufinfo_t <struct __done_request *D> {
	b_flags = (this->__buf_flags = __transfer_flags[__done_rq[D]->cmd_flags, __done_rq[D]->bio] | B_DONE,
		   this->__done = D, this->__status ? this->__buf_flags | B_ERROR : this->__buf_flags);
	b_bcount = __done_rq[D]->__data_len;
	b_addr = 0;
	b_blkno = __done_rq[D]->__sector;
	b_lblkno = __done_rq[D]->__sector;
	b_resid = (this->__done = D, this->__status ? __done_rq[this->__done]->__data_len : 0);
	b_bufsize = __done_rq[D]->__data_len;
	b_iodone = (caddr_t)__done_rq[D]->end_io;
	b_error = (this->__done = D, __block_error[this->__status]);
	b_edev = __device_number[__request_device[__done_rq[D]]];
};

translator bufinfo_t <struct __done_bio *D> {
	b_flags = xlate<bufinfo_t>(__done_bio_of[D]).b_flags | B_DONE;
	b_bcount = xlate<bufinfo_t>(__done_bio_of[D]).b_bcount;
	b_addr = 0;
	b_blkno = xlate<bufinfo_t>(__done_bio_of[D]).b_blkno;
	b_lblkno = xlate<bufinfo_t>(__done_bio_of[D]).b_lblkno;
	b_resid = __done_bio_of[D]->bi_status ? __done_bio_of[D]->bi_iter.bi_size : 0;
	b_bufsize = xlate<bufinfo_t>(__done_bio_of[D]).b_bufsize;
	b_iodone = xlate<bufinfo_t>(__done_bio_of[D]).b_iodone;
	b_error = xlate<bufinfo_t>(__done_bio_of[D]).b_error;
	b_edev = xlate<bufinfo_t>(__done_bio_of[D]).b_edev;
};

translator devinfo_t <struct __done_request *D> {
	dev_major = xlate<devinfo_t>(__done_rq[D]).dev_major;
	dev_minor = xlate<devinfo_t>(__done_rq[D]).dev_minor;
	dev_instance = 0;
	dev_name = xlate<devinfo_t>(__done_rq[D]).dev_name;
	dev_statname = xlate<devinfo_t>(__done_rq[D]).dev_statname;
	dev_pathname = xlate<devinfo_t>(__done_rq[D]).dev_pathname;
};

translator devinfo_t <struct __done_bio *D> {
	dev_major = xlate<devinfo_t>(__done_bio_of[D]).dev_major;
	dev_minor = xlate<devinfo_t>(__done_bio_of[D]).dev_minor;
	dev_instance = 0;
	dev_name = xlate<devinfo_t>(__done_bio_of[D]).dev_name;
	dev_statname = xlate<devinfo_t>(__done_bio_of[D]).dev_statname;
	dev_pathname = xlate<devinfo_t>(__done_bio_of[D]).dev_pathname;
};

/* ---- the file a transfer is for ---- */

/* That of a block device is no file: its pages are the file system's own. Linux include/uapi/linux/stat.h, S_IFBLK. */
inline struct inode *__bio_inode[struct bio *B] =
	(this->__mapping = __bio_mapping[B],
	 this->__mapping == 0 || this->__mapping & 3 ? NULL :
	 (this->__host = ((struct address_space *)this->__mapping)->host,
	  (this->__host->i_mode & 0170000) == 0060000 ? NULL : this->__host));

/* One of the names of an inode, or NULL. The list goes through dentry.d_u. */
inline struct dentry *__inode_entry[struct inode *I] =
	I == NULL || I->i_dentry.first == NULL ? NULL :
	(struct dentry *)((uintptr_t)I->i_dentry.first - offsetof(struct dentry, d_u));

/* The first mount of a file system: a list until Linux 6.17 */
inline struct vfsmount *__inode_mount[struct inode *I] =
	__either((struct vfsmount *)((uintptr_t)I->i_sb->s_mounts.next -
				     offsetof(struct mount, mnt_instance) + offsetof(struct mount, mnt)),
		 &I->i_sb->s_mounts->mnt);

inline string __inode_path[struct inode *I] =
	(this->__inode = I, this->__entry = __inode_entry[this->__inode],
	 this->__inode == NULL ? "<none>" : this->__entry == NULL ? "<unknown>" :
	 __entry_path[this->__entry, __inode_mount[this->__inode]]);

translator fileinfo_t <struct inode *I> {
	fi_name = (this->__inode = I, this->__entry = __inode_entry[this->__inode],
		   this->__inode == NULL ? "<none>" : this->__entry == NULL ? "<unknown>" :
		   __entry_name[this->__entry]);
	fi_dirname = (this->__text = __inode_path[I],
		      this->__entry == NULL ? this->__text : dirname(this->__text));
	fi_pathname = __inode_path[I];
	fi_offset = 0;
	fi_fs = (this->__inode = I, this->__inode == NULL ? "<none>" :
		 stringof(this->__inode->i_sb->s_type->name));
	fi_mount = (this->__inode = I, this->__entry = __inode_entry[this->__inode],
		    this->__inode == NULL ? "<none>" : this->__entry == NULL ? "<unknown>" :
		    __mount_path[__inode_mount[this->__inode]]);
	fi_oflags = -1;
};

translator fileinfo_t <struct bio *B> {
	fi_name = xlate<fileinfo_t>(__bio_inode[B]).fi_name;
	fi_dirname = xlate<fileinfo_t>(__bio_inode[B]).fi_dirname;
	fi_pathname = xlate<fileinfo_t>(__bio_inode[B]).fi_pathname;
	fi_offset = 0;
	fi_fs = xlate<fileinfo_t>(__bio_inode[B]).fi_fs;
	fi_mount = xlate<fileinfo_t>(__bio_inode[B]).fi_mount;
	fi_oflags = -1;
};

translator fileinfo_t <struct request *R> {
	fi_name = xlate<fileinfo_t>(R->bio).fi_name;
	fi_dirname = xlate<fileinfo_t>(R->bio).fi_dirname;
	fi_pathname = xlate<fileinfo_t>(R->bio).fi_pathname;
	fi_offset = 0;
	fi_fs = xlate<fileinfo_t>(R->bio).fi_fs;
	fi_mount = xlate<fileinfo_t>(R->bio).fi_mount;
	fi_oflags = -1;
};

translator fileinfo_t <struct __done_request *D> {
	fi_name = xlate<fileinfo_t>(__done_rq[D]).fi_name;
	fi_dirname = xlate<fileinfo_t>(__done_rq[D]).fi_dirname;
	fi_pathname = xlate<fileinfo_t>(__done_rq[D]).fi_pathname;
	fi_offset = 0;
	fi_fs = xlate<fileinfo_t>(__done_rq[D]).fi_fs;
	fi_mount = xlate<fileinfo_t>(__done_rq[D]).fi_mount;
	fi_oflags = -1;
};

translator fileinfo_t <struct __done_bio *D> {
	fi_name = xlate<fileinfo_t>(__done_bio_of[D]).fi_name;
	fi_dirname = xlate<fileinfo_t>(__done_bio_of[D]).fi_dirname;
	fi_pathname = xlate<fileinfo_t>(__done_bio_of[D]).fi_pathname;
	fi_offset = 0;
	fi_fs = xlate<fileinfo_t>(__done_bio_of[D]).fi_fs;
	fi_mount = xlate<fileinfo_t>(__done_bio_of[D]).fi_mount;
	fi_oflags = -1;
};
