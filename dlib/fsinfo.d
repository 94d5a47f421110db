/* SPDX-License-Identifier: MIT */
/*
 * Provider fsinfo: what programs do with open files of file systems. args[0] is the file, args[1] the number of bytes
 * or 0. A system call tells it; what fails fires no probe.
 *
 * Pipes, sockets and other files that no path leads to (SB_NOUSER) are no files of a file system. At the return of a call its
 * arguments are gone, so the file is noted at its entry.
 */
#pragma D depends_on library io.d

self struct file *__fs_file;
this struct file *__fs_seen;

inline int __is_fs_file[struct file *F] = F != NULL && (F->f_inode->i_sb->s_flags & 0x80000000) == 0;

/* always 0 */
inline int __fs_skip = (self->__fs_file = NULL, 0);
inline int __fs_note[int FD] =
	(this->__fs_seen = getf(FD), self->__fs_file = __is_fs_file[this->__fs_seen] ? this->__fs_seen : NULL, 0);

provider fsinfo {
	probe open(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::open:return /(int)arg0 >= 0 && (this->__fs_seen = getf((int)arg0), __is_fs_file[this->__fs_seen])/ (this->__fs_seen, 0);

	/* before the descriptor is gone; a process that ends closes the others without a call */
	probe close(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::close:entry /this->__fs_seen = getf((int)arg0), __is_fs_file[this->__fs_seen]/ (this->__fs_seen, 0);

	/* bytes */
	probe read(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::read:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::readv:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::pread64:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::preadv:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::preadv2:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::read:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0),
		  syscall::readv:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0),
		  syscall::pread64:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0),
		  syscall::preadv:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0),
		  syscall::preadv2:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0);

	probe write(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::write:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::writev:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::pwrite64:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::pwritev:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::pwritev2:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::write:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0),
		  syscall::writev:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0),
		  syscall::pwrite64:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0),
		  syscall::pwritev:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0),
		  syscall::pwritev2:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0);

	probe readdir(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::getdents:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::getdents:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0);

	probe fsync(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::fsync:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::fdatasync:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::sync_file_range:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::fsync:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0),
		  syscall::fdatasync:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0),
		  syscall::sync_file_range:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)arg0);

	probe seek(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::lseek:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::lseek:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)0);

	probe ioctl(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::ioctl:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::ioctl:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)0);

	/* MAP_ANONYMOUS has no file */
	probe map(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::mmap:entry /!(arg3 & 0x20) ? __fs_note[(int)arg4] : __fs_skip/ (NULL, 0),
		  syscall::mmap:return /errno == 0 && self->__fs_file != NULL/ (self->__fs_file, 0);

	probe getattr(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::fstat:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::fstat:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)0);

	probe setattr(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::fchmod:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::fchown:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::ftruncate:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::fchmod:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)0),
		  syscall::fchown:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)0),
		  syscall::ftruncate:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)0);

	probe space(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::fallocate:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::fallocate:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, (int)0);

	/* F_GETLK to F_SETLKW, and those of open files (F_OFD_GETLK to F_OFD_SETLKW) */
	probe frlock(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::fcntl:entry /(arg1 >= 5 && arg1 <= 7) || (arg1 >= 36 && arg1 <= 38) ? __fs_note[(int)arg0] : __fs_skip/ (NULL, 0),
		  syscall::flock:entry /__fs_note[(int)arg0]/ (NULL, 0),
		  syscall::fcntl:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, 0),
		  syscall::flock:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, 0);

	/* F_SETFL */
	probe setfl(struct file *f, int n) : (fileinfo_t *f, int n)
		= syscall::fcntl:entry /arg1 == 4 ? __fs_note[(int)arg0] : __fs_skip/ (NULL, 0),
		  syscall::fcntl:return /(int64_t)arg0 >= 0 && self->__fs_file != NULL/ (self->__fs_file, 0);

	probe create(struct file *f, int n) : (fileinfo_t *f, int n)
		= "a file that is not open has no struct file: syscall::open:entry has the path";

	probe lookup(struct file *f, int n) : (fileinfo_t *f, int n)
		= "a file that is not open has no struct file: syscall::stat:entry has the path";

	probe mkdir(struct file *f, int n) : (fileinfo_t *f, int n)
		= "a file that is not open has no struct file: syscall::mkdir:entry has the path";

	probe rmdir(struct file *f, int n) : (fileinfo_t *f, int n)
		= "a file that is not open has no struct file: syscall::rmdir:entry has the path";

	probe remove(struct file *f, int n) : (fileinfo_t *f, int n)
		= "a file that is not open has no struct file: syscall::unlink:entry has the path";

	probe rename(struct file *f, int n) : (fileinfo_t *f, int n)
		= "a file that is not open has no struct file: syscall::rename:entry has the path";

	probe link(struct file *f, int n) : (fileinfo_t *f, int n)
		= "a file that is not open has no struct file: syscall::link:entry has the path";

	probe symlink(struct file *f, int n) : (fileinfo_t *f, int n)
		= "a file that is not open has no struct file: syscall::symlink:entry has the path";

	probe readlink(struct file *f, int n) : (fileinfo_t *f, int n)
		= "a file that is not open has no struct file: syscall::readlink:entry has the path";

	probe access(struct file *f, int n) : (fileinfo_t *f, int n)
		= "a file that is not open has no struct file: syscall::access:entry has the path";

	probe getpage(struct file *f, int n) : (fileinfo_t *f, int n)
		= "no tracepoint says so for each file: vminfo:::as_fault fires for pages, and io:::start has the transfers";

	probe putpage(struct file *f, int n) : (fileinfo_t *f, int n)
		= "no tracepoint says so for each file: io:::start has the transfers";

	probe poll(struct file *f, int n) : (fileinfo_t *f, int n)
		= "no tracepoint says so for each file: syscall::poll:entry has the descriptors";
};

#pragma D attributes Evolving/Evolving/Unknown provider fsinfo provider
#pragma D attributes Private/Private/Unknown provider fsinfo module
#pragma D attributes Private/Private/Unknown provider fsinfo function
#pragma D attributes Evolving/Evolving/Unknown provider fsinfo name
#pragma D attributes Evolving/Evolving/Unknown provider fsinfo args
