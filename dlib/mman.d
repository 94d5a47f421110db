/* SPDX-License-Identifier: MIT */
/* Memory: flags of mmap(), advice of madvise(). Linux on x86-64: asm-generic/mman.h. */

inline int PROT_NONE = 0;
inline int PROT_READ = 1;
inline int PROT_WRITE = 2;
inline int PROT_EXEC = 4;
inline int PROT_GROWSDOWN = 16777216;
inline int PROT_GROWSUP = 33554432;

inline int MAP_FAILED = -1;
inline int MAP_FILE = 0;
inline int MAP_SHARED = 1;
inline int MAP_PRIVATE = 2;
inline int MAP_SHARED_VALIDATE = 3;
inline int MAP_TYPE = 15;
inline int MAP_FIXED = 16;
inline int MAP_HUGE_SHIFT = 26;
inline int MAP_ANON = 32;
inline int MAP_ANONYMOUS = 32;
inline int MAP_HUGE_MASK = 63;
inline int MAP_32BIT = 64;
inline int MAP_GROWSDOWN = 256;
inline int MAP_DENYWRITE = 2048;
inline int MAP_EXECUTABLE = 4096;
inline int MAP_LOCKED = 8192;
inline int MAP_NORESERVE = 16384;
inline int MAP_POPULATE = 32768;
inline int MAP_NONBLOCK = 65536;
inline int MAP_STACK = 131072;
inline int MAP_HUGETLB = 262144;
inline int MAP_SYNC = 524288;
inline int MAP_FIXED_NOREPLACE = 1048576;

inline int MADV_NORMAL = 0;
inline int MADV_RANDOM = 1;
inline int MADV_SEQUENTIAL = 2;
inline int MADV_WILLNEED = 3;
inline int MADV_DONTNEED = 4;
inline int MADV_FREE = 8;
inline int MADV_REMOVE = 9;
inline int MADV_DONTFORK = 10;
inline int MADV_DOFORK = 11;
inline int MADV_MERGEABLE = 12;
inline int MADV_UNMERGEABLE = 13;
inline int MADV_HUGEPAGE = 14;
inline int MADV_NOHUGEPAGE = 15;
inline int MADV_DONTDUMP = 16;
inline int MADV_DODUMP = 17;
inline int MADV_WIPEONFORK = 18;
inline int MADV_KEEPONFORK = 19;
inline int MADV_COLD = 20;
inline int MADV_PAGEOUT = 21;
inline int MADV_POPULATE_READ = 22;
inline int MADV_POPULATE_WRITE = 23;
inline int MADV_DONTNEED_LOCKED = 24;
inline int MADV_HWPOISON = 100;

inline int MS_ASYNC = 1;
inline int MS_INVALIDATE = 2;
inline int MS_SYNC = 4;

inline int MREMAP_MAYMOVE = 1;
inline int MREMAP_FIXED = 2;
inline int MREMAP_DONTUNMAP = 4;
