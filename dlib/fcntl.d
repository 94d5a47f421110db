/* SPDX-License-Identifier: MIT */
/* Files: flags of open(), commands of fcntl(), modes of stat(). Linux on x86-64: asm-generic/fcntl.h. */

inline int O_RDONLY = 0;
inline int O_WRONLY = 1;
inline int O_RDWR = 2;
inline int O_ACCMODE = 3;
inline int O_CREAT = 64;
inline int O_EXCL = 128;
inline int O_NOCTTY = 256;
inline int O_TRUNC = 512;
inline int O_APPEND = 1024;
inline int O_NDELAY = 2048;
inline int O_NONBLOCK = 2048;
inline int O_DSYNC = 4096;
inline int O_ASYNC = 8192;
inline int O_DIRECT = 16384;
inline int O_LARGEFILE = 32768;
inline int O_DIRECTORY = 65536;
inline int O_NOFOLLOW = 131072;
inline int O_NOATIME = 262144;
inline int O_CLOEXEC = 524288;
inline int O_FSYNC = 1052672;
inline int O_RSYNC = 1052672;
inline int O_SYNC = 1052672;
inline int O_PATH = 2097152;
inline int O_TMPFILE = 4259840;

inline int F_DUPFD = 0;
inline int F_OK = 0;
inline int F_RDLCK = 0;
inline int F_ULOCK = 0;
inline int FD_CLOEXEC = 1;
inline int F_GETFD = 1;
inline int F_LOCK = 1;
inline int F_SEAL_SEAL = 1;
inline int F_WRLCK = 1;
inline int F_SEAL_SHRINK = 2;
inline int F_SETFD = 2;
inline int F_TLOCK = 2;
inline int F_UNLCK = 2;
inline int F_GETFL = 3;
inline int F_TEST = 3;
inline int F_EXLCK = 4;
inline int F_SEAL_GROW = 4;
inline int F_SETFL = 4;
inline int F_GETLK = 5;
inline int F_GETLK64 = 5;
inline int F_SETLK = 6;
inline int F_SETLK64 = 6;
inline int F_SETLKW = 7;
inline int F_SETLKW64 = 7;
inline int F_SEAL_WRITE = 8;
inline int F_SETOWN = 8;
inline int F_SHLCK = 8;
inline int F_GETOWN = 9;
inline int F_SETSIG = 10;
inline int F_GETSIG = 11;
inline int F_SETOWN_EX = 15;
inline int F_GETOWN_EX = 16;
inline int F_SEAL_FUTURE_WRITE = 16;
inline int F_OFD_GETLK = 36;
inline int F_OFD_SETLK = 37;
inline int F_OFD_SETLKW = 38;
inline int F_SETLEASE = 1024;
inline int F_GETLEASE = 1025;
inline int F_NOTIFY = 1026;
inline int F_DUPFD_CLOEXEC = 1030;
inline int F_SETPIPE_SZ = 1031;
inline int F_GETPIPE_SZ = 1032;
inline int F_ADD_SEALS = 1033;
inline int F_GET_SEALS = 1034;
inline int F_GET_RW_HINT = 1035;
inline int F_SET_RW_HINT = 1036;
inline int F_GET_FILE_RW_HINT = 1037;
inline int F_SET_FILE_RW_HINT = 1038;

inline int S_IXOTH = 1;
inline int S_IWOTH = 2;
inline int S_IROTH = 4;
inline int S_IRWXO = 7;
inline int S_IXGRP = 8;
inline int S_IWGRP = 16;
inline int S_IRGRP = 32;
inline int S_IRWXG = 56;
inline int S_IEXEC = 64;
inline int S_IXUSR = 64;
inline int S_IWRITE = 128;
inline int S_IWUSR = 128;
inline int S_IREAD = 256;
inline int S_IRUSR = 256;
inline int S_IRWXU = 448;
inline int S_ISVTX = 512;
inline int S_ISGID = 1024;
inline int S_ISUID = 2048;
inline int S_IFIFO = 4096;
inline int S_IFCHR = 8192;
inline int S_IFDIR = 16384;
inline int S_IFBLK = 24576;
inline int S_IFREG = 32768;
inline int S_IFLNK = 40960;
inline int S_IFSOCK = 49152;
inline int S_IFMT = 61440;

inline int AT_FDCWD = -100;
inline int AT_STATX_SYNC_AS_STAT = 0;
inline int AT_SYMLINK_NOFOLLOW = 256;
inline int AT_EACCESS = 512;
inline int AT_REMOVEDIR = 512;
inline int AT_SYMLINK_FOLLOW = 1024;
inline int AT_NO_AUTOMOUNT = 2048;
inline int AT_EMPTY_PATH = 4096;
inline int AT_STATX_FORCE_SYNC = 8192;
inline int AT_STATX_DONT_SYNC = 16384;
inline int AT_STATX_SYNC_TYPE = 24576;
inline int AT_RECURSIVE = 32768;

inline int LOCK_SH = 1;
inline int LOCK_EX = 2;
inline int LOCK_NB = 4;
inline int LOCK_UN = 8;
inline int LOCK_MAND = 32;
inline int LOCK_READ = 64;
inline int LOCK_WRITE = 128;
inline int LOCK_RW = 192;

inline int POSIX_FADV_NORMAL = 0;
inline int POSIX_FADV_RANDOM = 1;
inline int POSIX_FADV_SEQUENTIAL = 2;
inline int POSIX_FADV_WILLNEED = 3;
inline int POSIX_FADV_DONTNEED = 4;
inline int POSIX_FADV_NOREUSE = 5;

/* access(), lseek(): <unistd.h> */

inline int X_OK = 1;
inline int W_OK = 2;
inline int R_OK = 4;

inline int SEEK_SET = 0;
inline int SEEK_CUR = 1;
inline int SEEK_END = 2;
inline int SEEK_DATA = 3;
inline int SEEK_HOLE = 4;

/* fallocate(), renameat2(), splice() */

inline int FALLOC_FL_KEEP_SIZE = 1;
inline int FALLOC_FL_PUNCH_HOLE = 2;
inline int FALLOC_FL_NO_HIDE_STALE = 4;
inline int FALLOC_FL_COLLAPSE_RANGE = 8;
inline int FALLOC_FL_ZERO_RANGE = 16;
inline int FALLOC_FL_INSERT_RANGE = 32;
inline int FALLOC_FL_UNSHARE_RANGE = 64;

inline int RENAME_NOREPLACE = 1;
inline int RENAME_EXCHANGE = 2;
inline int RENAME_WHITEOUT = 4;

inline int SPLICE_F_MOVE = 1;
inline int SPLICE_F_NONBLOCK = 2;
inline int SPLICE_F_MORE = 4;
inline int SPLICE_F_GIFT = 8;

inline int DT_UNKNOWN = 0;
inline int DT_FIFO = 1;
inline int DT_CHR = 2;
inline int DT_DIR = 4;
inline int DT_BLK = 6;
inline int DT_REG = 8;
inline int DT_LNK = 10;
inline int DT_SOCK = 12;
inline int DT_WHT = 14;

inline int NAME_MAX = 255;
inline int PATH_MAX = 4096;
inline int PIPE_BUF = 4096;
inline int IOV_MAX = 1024;
