/* SPDX-License-Identifier: MIT */
/* poll(), epoll, inotify, eventfd. <poll.h>, <sys/epoll.h>, <sys/inotify.h>, <sys/eventfd.h>. */

inline int POLLIN = 1;
inline int POLLPRI = 2;
inline int POLLOUT = 4;
inline int POLLERR = 8;
inline int POLLHUP = 16;
inline int POLLNVAL = 32;
inline int POLLRDNORM = 64;
inline int POLLRDBAND = 128;
inline int POLLWRNORM = 256;
inline int POLLWRBAND = 512;
inline int POLLMSG = 1024;
inline int POLLREMOVE = 4096;
inline int POLLRDHUP = 8192;

inline int EPOLLIN = 1;
inline int EPOLLPRI = 2;
inline int EPOLLOUT = 4;
inline int EPOLLERR = 8;
inline int EPOLLHUP = 16;
inline int EPOLLRDNORM = 64;
inline int EPOLLRDBAND = 128;
inline int EPOLLWRNORM = 256;
inline int EPOLLWRBAND = 512;
inline int EPOLLMSG = 1024;
inline int EPOLLRDHUP = 8192;
inline int EPOLLEXCLUSIVE = 268435456;
inline int EPOLLWAKEUP = 536870912;
inline int EPOLLONESHOT = 1073741824;
inline int EPOLLET = (int)0x80000000;

inline int EPOLL_CTL_ADD = 1;
inline int EPOLL_CTL_DEL = 2;
inline int EPOLL_CTL_MOD = 3;
inline int EPOLL_CLOEXEC = 524288;

inline int IN_ACCESS = 1;
inline int IN_MODIFY = 2;
inline int IN_ATTRIB = 4;
inline int IN_CLOSE_WRITE = 8;
inline int IN_CLOSE_NOWRITE = 16;
inline int IN_CLOSE = 24;
inline int IN_OPEN = 32;
inline int IN_MOVED_FROM = 64;
inline int IN_MOVED_TO = 128;
inline int IN_MOVE = 192;
inline int IN_CREATE = 256;
inline int IN_DELETE = 512;
inline int IN_DELETE_SELF = 1024;
inline int IN_MOVE_SELF = 2048;
inline int IN_UNMOUNT = 8192;
inline int IN_Q_OVERFLOW = 16384;
inline int IN_IGNORED = 32768;
inline int IN_ONLYDIR = 16777216;
inline int IN_DONT_FOLLOW = 33554432;
inline int IN_EXCL_UNLINK = 67108864;
inline int IN_MASK_ADD = 536870912;
inline int IN_ISDIR = 1073741824;
inline int IN_ONESHOT = (int)0x80000000;
inline int IN_ALL_EVENTS = 4095;
inline int IN_CLOEXEC = 524288;
inline int IN_NONBLOCK = 2048;

inline int EFD_SEMAPHORE = 1;
inline int EFD_CLOEXEC = 524288;
inline int EFD_NONBLOCK = 2048;
