/* SPDX-License-Identifier: MIT */
/* System V messages, semaphores, shared memory: <sys/ipc.h>, <sys/msg.h>, <sys/sem.h>, <sys/shm.h>. */

inline int IPC_CREAT = 512;
inline int IPC_EXCL = 1024;
inline int IPC_NOWAIT = 2048;
inline int IPC_PRIVATE = 0;
inline int IPC_RMID = 0;
inline int IPC_SET = 1;
inline int IPC_STAT = 2;
inline int IPC_INFO = 3;

inline int MSG_NOERROR = 4096;
inline int MSG_EXCEPT = 8192;
inline int SEM_UNDO = 4096;
inline int GETPID = 11;
inline int GETVAL = 12;
inline int GETALL = 13;
inline int GETNCNT = 14;
inline int GETZCNT = 15;
inline int SETVAL = 16;
inline int SETALL = 17;

inline int SHM_RDONLY = 4096;
inline int SHM_RND = 8192;
inline int SHM_REMAP = 16384;
inline int SHM_EXEC = 32768;
inline int SHM_LOCK = 11;
inline int SHM_UNLOCK = 12;
inline int SHM_HUGETLB = 2048;
inline int SHM_NORESERVE = 4096;
