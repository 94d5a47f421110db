/* SPDX-License-Identifier: MIT */
/* mount(), umount2(): <sys/mount.h>. */

inline int MS_RDONLY = 1;
inline int MS_NOSUID = 2;
inline int MS_NODEV = 4;
inline int MS_NOEXEC = 8;
inline int MS_SYNCHRONOUS = 16;
inline int MS_REMOUNT = 32;
inline int MS_MANDLOCK = 64;
inline int MS_DIRSYNC = 128;
inline int MS_NOATIME = 1024;
inline int MS_NODIRATIME = 2048;
inline int MS_BIND = 4096;
inline int MS_MOVE = 8192;
inline int MS_REC = 16384;
inline int MS_SILENT = 32768;
inline int MS_POSIXACL = 65536;
inline int MS_UNBINDABLE = 131072;
inline int MS_PRIVATE = 262144;
inline int MS_SLAVE = 524288;
inline int MS_SHARED = 1048576;
inline int MS_RELATIME = 2097152;
inline int MS_KERNMOUNT = 4194304;
inline int MS_I_VERSION = 8388608;
inline int MS_STRICTATIME = 16777216;
inline int MS_LAZYTIME = 33554432;

inline int MNT_FORCE = 1;
inline int MNT_DETACH = 2;
inline int MNT_EXPIRE = 4;
inline int UMOUNT_NOFOLLOW = 8;
