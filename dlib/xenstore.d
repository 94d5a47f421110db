/* SPDX-License-Identifier: MIT */
/*
 * Provider xenstore: messages between Xen's store daemon, xenstored (C) or oxenstored, and the clients of its sockets, which
 * are programs of domain 0. Provider xenstored: those between a process of the C daemon and kernels, through shared memory.
 * "xenstore*:::msg" means both.
 *
 * A message is a head of 16 bytes, and behind it a body of as many bytes as the head says.
 *
 * The daemon asks for exactly what is missing of a head, and then of a body. So what it has asked for tells the one from the
 * other, and puts us in step again where tracing began in the midst of a message. It sends a head and a body by two calls
 * (oxenstored by one), whose first attempt has the whole of it, however much the connection takes.
 *
 * Since Linux 6.3 a tracepoint says how many bytes a call has moved over a socket, of which struct sock; what the call has asked
 * for, and where the bytes are, is in the registers with which the thread has entered the kernel. Other calls than those with
 * sockets cost nothing then. In older kernels, read() and write() are noted when they begin, and looked at when they return, as
 * are the daemon's functions that do the same with shared memory, of which a connection is a struct connection *.
 *
 * What a call has brought is found out by the first guard that is evaluated then; guards that follow see the result.
 */
#pragma D depends_on library pidns.d
#pragma D depends_on library socket.d
#pragma D depends_on library fcntl.d

inline uint32_t XS_CONTROL = 0;
inline uint32_t XS_DIRECTORY = 1;
inline uint32_t XS_READ = 2;
inline uint32_t XS_GET_PERMS = 3;
inline uint32_t XS_WATCH = 4;
inline uint32_t XS_UNWATCH = 5;
inline uint32_t XS_TRANSACTION_START = 6;
inline uint32_t XS_TRANSACTION_END = 7;
inline uint32_t XS_INTRODUCE = 8;
inline uint32_t XS_RELEASE = 9;
inline uint32_t XS_GET_DOMAIN_PATH = 10;
inline uint32_t XS_WRITE = 11;
inline uint32_t XS_MKDIR = 12;
inline uint32_t XS_RM = 13;
inline uint32_t XS_SET_PERMS = 14;
inline uint32_t XS_WATCH_EVENT = 15;
inline uint32_t XS_ERROR = 16;
inline uint32_t XS_IS_DOMAIN_INTRODUCED = 17;
inline uint32_t XS_RESUME = 18;
inline uint32_t XS_SET_TARGET = 19;
inline uint32_t XS_RESTRICT = 20;
inline uint32_t XS_RESET_WATCHES = 21;
inline uint32_t XS_DIRECTORY_PART = 22;

inline string xs_type_name[uint32_t T] =
	T == XS_CONTROL ? "XS_CONTROL" : T == XS_DIRECTORY ? "XS_DIRECTORY" : T == XS_READ ? "XS_READ" :
	T == XS_GET_PERMS ? "XS_GET_PERMS" : T == XS_WATCH ? "XS_WATCH" : T == XS_UNWATCH ? "XS_UNWATCH" :
	T == XS_TRANSACTION_START ? "XS_TRANSACTION_START" : T == XS_TRANSACTION_END ? "XS_TRANSACTION_END" :
	T == XS_INTRODUCE ? "XS_INTRODUCE" : T == XS_RELEASE ? "XS_RELEASE" :
	T == XS_GET_DOMAIN_PATH ? "XS_GET_DOMAIN_PATH" : T == XS_WRITE ? "XS_WRITE" : T == XS_MKDIR ? "XS_MKDIR" :
	T == XS_RM ? "XS_RM" : T == XS_SET_PERMS ? "XS_SET_PERMS" : T == XS_WATCH_EVENT ? "XS_WATCH_EVENT" :
	T == XS_ERROR ? "XS_ERROR" : T == XS_IS_DOMAIN_INTRODUCED ? "XS_IS_DOMAIN_INTRODUCED" :
	T == XS_RESUME ? "XS_RESUME" : T == XS_SET_TARGET ? "XS_SET_TARGET" : T == XS_RESTRICT ? "XS_RESTRICT" :
	T == XS_RESET_WATCHES ? "XS_RESET_WATCHES" : T == XS_DIRECTORY_PART ? "XS_DIRECTORY_PART" :
	strjoin("XS_", lltostr(T));

/* ---- the call that is under way ---- */

self uintptr_t __xs_conn, __xs_buf;
self uint32_t __xs_asked; /* bytes; 0: the call's result was looked at, or it is none of ours */
self uintptr_t __xs_guest_conn, __xs_guest_buf; /* the same of a function, which makes system calls itself */
self uint32_t __xs_guest_asked, __xs_guest;	/* the number of the domain */

/* ---- the message that it has completed ---- */

self int __xs_event; /* __XS_IS_* */
self uint32_t __xs_type, __xs_size;
self uint64_t __xs_ids;   /* transaction << 32 | number of the request */
self uintptr_t __xs_text; /* in the daemon */

inline int __XS_IS_MSG = 1;
inline int __XS_IS_REPLY = 2;
inline int __XS_IS_ERROR = 3;
inline int __XS_IS_WATCH_EVENT = 4;

/* ---- messages that are not complete, by connection: received, sent ---- */

uint64_t __xs_in[uintptr_t], __xs_out[uintptr_t];         /* type << 32 | told << 26 | size of the body << 13 | bytes moved */
uint64_t __xs_in_ids[uintptr_t], __xs_out_ids[uintptr_t]; /* as __xs_ids */

inline uint64_t __XS_TOLD = 1 << 26;
inline uint32_t __XS_HEAD = 16;
inline uint32_t __XS_BODY_MAX = 4096;	/* XENSTORE_PAYLOAD_MAX of xs_wire.h */
inline uint32_t __xs_moved[uint64_t S] = S & 0x1fff;
inline uint32_t __xs_body[uint64_t S] = S >> 13 & 0x1fff;
inline uint32_t __xs_left[uint64_t S] = (__xs_moved[S] < __XS_HEAD ? __XS_HEAD : __XS_HEAD + __xs_body[S]) - __xs_moved[S];

/* struct xsd_sockmsg of xs_wire.h: type, number of the request, transaction, size of the body */
inline uint32_t __xs_word[uintptr_t H, int I] = ((userland uint32_t *)H)[I];
inline uint64_t __xs_head_ids[uintptr_t H] = (uint64_t)__xs_word[H, 2] << 32 | __xs_word[H, 1];
inline uint64_t __xs_state[uint32_t T, uint32_t N, uint64_t moved] = (uint64_t)T << 32 | N << 13 | moved;

this uintptr_t __xs_c, __xs_b, __xs_h;
this uint32_t __xs_n, __xs_len;
this uint64_t __xs_r, __xs_s;

inline int __xs_tell[int E, uint32_t T, uint64_t ids, uintptr_t A, uint32_t N] =
	(self->__xs_type = T, self->__xs_ids = ids, self->__xs_text = A, self->__xs_size = N, E);

/* ---- received ---- */

/*
 * xenstored has a message in one buffer, whatever the pieces it comes in; oxenstored has each piece in the same buffer: then a
 * head in pieces is lost, and of a body the last piece is told.
 */
inline int __xs_is_ocaml = execname == "oxenstored";

inline int __xs_head_got =
	__xs_is_ocaml && this->__xs_n < __XS_HEAD ? (__xs_in[this->__xs_c] = 0, 0) :
	(this->__xs_h = this->__xs_b + this->__xs_n - __XS_HEAD,
	 this->__xs_len = __xs_word[this->__xs_h, 3],
	 this->__xs_len > __XS_BODY_MAX ? (__xs_in[this->__xs_c] = 0, 0) :
	 this->__xs_len == 0 ?
		(__xs_in[this->__xs_c] = 0,
		 __xs_tell[__XS_IS_MSG, __xs_word[this->__xs_h, 0], __xs_head_ids[this->__xs_h], 0, 0]) :
	 (__xs_in_ids[this->__xs_c] = __xs_head_ids[this->__xs_h],
	  __xs_in[this->__xs_c] = __xs_state[__xs_word[this->__xs_h, 0], this->__xs_len, __XS_HEAD], 0));

inline int __xs_body_got =
	(this->__xs_len = __xs_body[this->__xs_s],
	 this->__xs_h = __xs_in_ids[this->__xs_c],
	 __xs_in[this->__xs_c] = 0,
	 __xs_in_ids[this->__xs_c] = 0,
	 this->__xs_len = __xs_is_ocaml ? this->__xs_n : this->__xs_len,
	 __xs_tell[__XS_IS_MSG, this->__xs_s >> 32, this->__xs_h, this->__xs_b + this->__xs_n - this->__xs_len, this->__xs_len]);

/* Bytes that the daemon did not ask for in this state begin a new head. */
inline int __xs_got =
	(this->__xs_s = __xs_in[this->__xs_c],
	 this->__xs_s = this->__xs_n == __xs_left[this->__xs_s] ? this->__xs_s : 0,
	 this->__xs_n != __xs_left[this->__xs_s] ? (__xs_in[this->__xs_c] = 0, 0) :
	 this->__xs_r < this->__xs_n ? (__xs_in[this->__xs_c] = this->__xs_s + this->__xs_r, 0) :
	 __xs_moved[this->__xs_s] < __XS_HEAD ? __xs_head_got : __xs_body_got);

/* ---- sent ---- */

inline int __xs_sent_kind[uint32_t T] =
	T == XS_ERROR ? __XS_IS_ERROR : T == XS_WATCH_EVENT ? __XS_IS_WATCH_EVENT : __XS_IS_REPLY;

/* S is the state before the call */
inline int __xs_move[uint64_t S] =
	(__xs_out[this->__xs_c] = __xs_moved[S] + this->__xs_r == __XS_HEAD + __xs_body[S] ? 0 : S + this->__xs_r, 0);

inline int __xs_head_sent =
	(this->__xs_len = __xs_word[this->__xs_b, 3],
	 this->__xs_len > __XS_BODY_MAX || (this->__xs_n != __XS_HEAD && this->__xs_n != __XS_HEAD + this->__xs_len) ? 0 :
	 this->__xs_n == __XS_HEAD + this->__xs_len ?
		(__xs_move[__xs_state[__xs_word[this->__xs_b, 0], this->__xs_len, __XS_TOLD]],
		 __xs_tell[__xs_sent_kind[__xs_word[this->__xs_b, 0]], __xs_word[this->__xs_b, 0], __xs_head_ids[this->__xs_b],
			   this->__xs_b + __XS_HEAD, this->__xs_len]) :
	 (__xs_out_ids[this->__xs_c] = __xs_head_ids[this->__xs_b],
	  __xs_move[__xs_state[__xs_word[this->__xs_b, 0], this->__xs_len, 0]]));

inline int __xs_body_sent =
	(this->__xs_h = __xs_out_ids[this->__xs_c],
	 __xs_out_ids[this->__xs_c] = 0,
	 __xs_move[this->__xs_s | __XS_TOLD],
	 __xs_tell[__xs_sent_kind[this->__xs_s >> 32], this->__xs_s >> 32, this->__xs_h, this->__xs_b, this->__xs_n]);

inline int __xs_sent =
	(this->__xs_s = __xs_out[this->__xs_c],
	 __xs_moved[this->__xs_s] == 0 ? (this->__xs_n < __XS_HEAD ? 0 : __xs_head_sent) :
	 this->__xs_s & __XS_TOLD ?
		(this->__xs_n == __XS_HEAD + __xs_body[this->__xs_s] - __xs_moved[this->__xs_s] ? __xs_move[this->__xs_s] :
		 (__xs_out[this->__xs_c] = 0, 0)) :
	 this->__xs_n != __xs_left[this->__xs_s] ? (__xs_out[this->__xs_c] = 0, 0) :
	 __xs_moved[this->__xs_s] < __XS_HEAD ? __xs_move[this->__xs_s] : __xs_body_sent);

/* ---- calls ---- */

inline int __xs_sized[uint64_t N] = N <= __XS_HEAD + __XS_BODY_MAX ? N : 0;
/* Each clause notes the call; but for the first, it finds that it was noted. */
inline int __xs_is_noted[uintptr_t B] = self->__xs_asked != 0 && self->__xs_buf == B;
inline int __xs_note[uintptr_t C, uintptr_t B, uint64_t N] =
	(self->__xs_event = 0, self->__xs_asked = C != 0 ? __xs_sized[N] : 0,
	 C != 0 ? (self->__xs_conn = C, self->__xs_buf = B, 0) : 0, 0);

/* The four variables are what the call was asked, and R, what it returned. */
inline int __xs_take[int64_t R] =
	(this->__xs_n = self->__xs_asked, this->__xs_r = R > 0 ? R : 0, self->__xs_asked = 0,
	 this->__xs_c = self->__xs_conn, this->__xs_b = self->__xs_buf, 0);
inline int __xs_is_got[int64_t R, int E] =
	(self->__xs_asked != 0 ? (__xs_take[R], self->__xs_event = this->__xs_r != 0 ? __xs_got : 0) : 0, self->__xs_event == E);
inline int __xs_is_sent[int64_t R, int E] =
	(self->__xs_asked != 0 ? (__xs_take[R], self->__xs_event = this->__xs_r != 0 ? __xs_sent : 0) : 0, self->__xs_event == E);

inline int __xs_is_daemon = execname == "xenstored" || execname == "oxenstored";

this struct file *__xs_file;
this struct sock *__xs_sock;
inline struct sock *__xs_socket[int FD] =
	(this->__xs_file = getf(FD),
	 this->__xs_file == NULL || (this->__xs_file->f_inode->i_mode & S_IFMT) != S_IFSOCK ? NULL :
	 (this->__xs_sock = ((struct socket *)this->__xs_file->private_data)->sk,
	  this->__xs_sock == NULL || this->__xs_sock->__sk_common.skc_family != AF_UNIX ? NULL : this->__xs_sock));
inline int __xs_note_socket[int FD, uintptr_t B, uint64_t N] =
	__xs_is_noted[B] ? 0 : __xs_note[(uintptr_t)__xs_socket[FD], B, N];

/* ---- the tracepoints of sockets ---- */

self uint64_t __xs_at; /* the time of the firing whose event __xs_event is */

inline int __xs_is_ours[struct sock *S] = S->__sk_common.skc_family == AF_UNIX && __xs_is_daemon;
/* SYSCALL(the socket, from or to which address, how many bytes) */
inline int __xs_has_moved[struct sock *S, int R, int SYSCALL] =
	(self->__xs_at = timestamp, self->__xs_event = 0, self->__xs_conn = (uintptr_t)S, this->__xs_c = (uintptr_t)S,
	 this->__xs_b = uregs[R_RSI], this->__xs_r = R, this->__xs_n = __xs_sized[uregs[R_RDX]],
	 R > 0 && this->__xs_n != 0 && uregs[R_ERR] == SYSCALL);
inline int __xs_has_got[struct sock *S, int R, int E] =
	(self->__xs_at != timestamp && __xs_has_moved[S, R, SYS_read] ? (self->__xs_event = __xs_got) : 0, self->__xs_event == E);
inline int __xs_has_sent[struct sock *S, int R, int E] =
	(self->__xs_at != timestamp && __xs_has_moved[S, R, SYS_write] ? (self->__xs_event = __xs_sent) : 0, self->__xs_event == E);

/* ---- arguments ---- */

/* NUL ends the last of several texts, and stands between them */
this void *__xs_p;
inline string __xs_string[uintptr_t A, uint32_t N] =
	N == 0 ? "" :
	(this->__xs_p = copyin(A, N),
	 this->__xs_len = ((char *)this->__xs_p)[N - 1] == 0 ? N - 1 : N,
	 this->__xs_len == 0 ? "" :
	 this->__xs_len < __XS_BODY_MAX ? memstr(this->__xs_p, ' ', this->__xs_len + 1) :
	 strjoin(memstr(this->__xs_p, ' ', __XS_BODY_MAX), stringof((char *)this->__xs_p + __XS_BODY_MAX - 1)));
inline string __xs_said = __xs_string[self->__xs_text, self->__xs_size];
inline uint32_t __xs_tx = self->__xs_ids >> 32;
inline int __xs_peer = __pid_number[((struct sock *)self->__xs_conn)->sk_peer_pid];

typedef struct xsinfo {
	uint32_t xs_tx;    /* transaction; 0: none */
	uint32_t xs_dom;   /* domain of the client */
	int xs_pid;        /* process of the client in domain 0; 0: a kernel */
	uint32_t xs_type;  /* XS_READ, ... */
	string xs_name;    /* the same as text */
	string xs_text;    /* its texts, with spaces between them */
	uint32_t xs_req;   /* number that the client gave the request, and the answer has */
	uintptr_t xs_conn; /* the connection */
} xsinfo_t;

struct __xs_socket;
translator xsinfo_t <struct __xs_socket *C> {
	xs_tx = __xs_tx;
	xs_dom = 0;
	xs_pid = __xs_peer;
	xs_type = self->__xs_type;
	xs_name = xs_type_name[self->__xs_type];
	xs_text = __xs_said;
	xs_req = (uint32_t)self->__xs_ids;
	xs_conn = (uintptr_t)C;
};

provider xenstore {
	probe msg(uint32_t tx, uint32_t dom, int pid, uint32_t type, string text, struct __xs_socket *c)
		: (uint32_t tx, uint32_t dom, int pid, uint32_t type, string text, xsinfo_t *c)
		= rawtp:sock::sock_recv_length /__xs_is_ours[args[0]] && __xs_has_got[args[0], args[1], __XS_IS_MSG]/
			(__xs_tx, 0, __xs_peer, self->__xs_type, __xs_said, (struct __xs_socket *)self->__xs_conn)
		|| syscall::read:entry /__xs_is_daemon && __xs_note_socket[(int)arg0, arg1, arg2]/ (0, 0, 0, 0, "", NULL),
		  syscall::read:return /__xs_is_daemon && __xs_is_got[arg0, __XS_IS_MSG]/
			(__xs_tx, 0, __xs_peer, self->__xs_type, __xs_said, (struct __xs_socket *)self->__xs_conn);

	probe reply(uint32_t tx, uint32_t dom, int pid, uint32_t type, string text, struct __xs_socket *c)
		: (uint32_t tx, uint32_t dom, int pid, uint32_t type, string text, xsinfo_t *c)
		= rawtp:sock::sock_send_length /__xs_is_ours[args[0]] && __xs_has_sent[args[0], args[1], __XS_IS_REPLY]/
			(__xs_tx, 0, __xs_peer, self->__xs_type, __xs_said, (struct __xs_socket *)self->__xs_conn)
		|| syscall::write:entry /__xs_is_daemon && __xs_note_socket[(int)arg0, arg1, arg2]/ (0, 0, 0, 0, "", NULL),
		  syscall::write:return /__xs_is_daemon && __xs_is_sent[arg0, __XS_IS_REPLY]/
			(__xs_tx, 0, __xs_peer, self->__xs_type, __xs_said, (struct __xs_socket *)self->__xs_conn);

	probe error(uint32_t tx, uint32_t dom, int pid, string text, struct __xs_socket *c)
		: (uint32_t tx, uint32_t dom, int pid, string text, xsinfo_t *c)
		= rawtp:sock::sock_send_length /__xs_is_ours[args[0]] && __xs_has_sent[args[0], args[1], __XS_IS_ERROR]/
			(__xs_tx, 0, __xs_peer, __xs_said, (struct __xs_socket *)self->__xs_conn)
		|| syscall::write:entry /__xs_is_daemon && __xs_note_socket[(int)arg0, arg1, arg2]/ (0, 0, 0, "", NULL),
		  syscall::write:return /__xs_is_daemon && __xs_is_sent[arg0, __XS_IS_ERROR]/
			(__xs_tx, 0, __xs_peer, __xs_said, (struct __xs_socket *)self->__xs_conn);

	probe watch_event(uint32_t dom, int pid, string text, struct __xs_socket *c)
		: (uint32_t dom, int pid, string text, xsinfo_t *c)
		= rawtp:sock::sock_send_length /__xs_is_ours[args[0]] && __xs_has_sent[args[0], args[1], __XS_IS_WATCH_EVENT]/
			(0, __xs_peer, __xs_said, (struct __xs_socket *)self->__xs_conn)
		|| syscall::write:entry /__xs_is_daemon && __xs_note_socket[(int)arg0, arg1, arg2]/ (0, 0, "", NULL),
		  syscall::write:return /__xs_is_daemon && __xs_is_sent[arg0, __XS_IS_WATCH_EVENT]/
			(0, __xs_peer, __xs_said, (struct __xs_socket *)self->__xs_conn);
};

/* ---- kernels ---- */

/*
 * The functions readchn(connection, to, size) and writechn(connection, from, size) of the C daemon's xenstored_domain.c, which
 * return how many bytes of the shared memory were moved. Debian's daemons are stripped: the functions are known by their code,
 * which differs from version to version with the place of the domain in a struct connection (C), and of its number there (D).
 */
inline int __xs_note_guest[uintptr_t K, uintptr_t B, uint32_t N, int C, int D] =
	self->__xs_guest_asked != 0 && self->__xs_guest_buf == B ? 0 :
	(self->__xs_event = 0, self->__xs_guest_asked = __xs_sized[N], self->__xs_guest_conn = K, self->__xs_guest_buf = B,
	 self->__xs_guest = *(userland uint32_t *)(*(userland uintptr_t *)(K + C) + D), 0);
inline int __xs_note_414[uintptr_t K, uintptr_t B, uint32_t N] = __xs_note_guest[K, B, N, 0x70, 16];
inline int __xs_note_417[uintptr_t K, uintptr_t B, uint32_t N] = __xs_note_guest[K, B, N, 0x88, 16];
inline int __xs_note_420[uintptr_t K, uintptr_t B, uint32_t N] = __xs_note_guest[K, B, N, 0x98, 0];

inline int __xs_take_guest[int R] =
	(this->__xs_n = self->__xs_guest_asked, this->__xs_r = R > 0 ? R : 0, self->__xs_guest_asked = 0,
	 this->__xs_c = self->__xs_guest_conn, this->__xs_b = self->__xs_guest_buf, 0);
inline int __xs_guest_got[int R, int E] =
	(self->__xs_guest_asked != 0 ? (__xs_take_guest[R], self->__xs_event = this->__xs_r != 0 ? __xs_got : 0) : 0,
	 self->__xs_event == E);
inline int __xs_guest_sent[int R, int E] =
	(self->__xs_guest_asked != 0 ? (__xs_take_guest[R], self->__xs_event = this->__xs_r != 0 ? __xs_sent : 0) : 0,
	 self->__xs_event == E);

struct __xs_guest;
translator xsinfo_t <struct __xs_guest *G> {
	xs_tx = __xs_tx;
	xs_dom = self->__xs_guest;
	xs_pid = 0;
	xs_type = self->__xs_type;
	xs_name = xs_type_name[self->__xs_type];
	xs_text = __xs_said;
	xs_req = (uint32_t)self->__xs_ids;
	xs_conn = (uintptr_t)G;
};

/* Debian's builds of Xen 4.14, 4.17 and 4.20 */
provider xenstored {
	probe msg(uint32_t tx, uint32_t dom, int pid, uint32_t type, string text, struct __xs_guest *g)
		: (uint32_t tx, uint32_t dom, int pid, uint32_t type, string text, xsinfo_t *g)
		= pid:xenstored:readchn-53488b47704889f14c8b4828418bb100080000418b9904080000:entry
			/__xs_note_414[arg0, arg1, arg2]/ (0, 0, 0, 0, "", NULL),
		  pid:xenstored:readchn-53488b47704889f14c8b4828418bb100080000418b9904080000:returned
			/__xs_guest_got[arg1, __XS_IS_MSG]/ (__xs_tx, self->__xs_guest, 0, self->__xs_type, __xs_said, (struct __xs_guest *)self->__xs_guest_conn),
		  pid:xenstored:readchn-53488b87880000004889f14c8b4820418bb100080000418b8104080000:entry
			/__xs_note_417[arg0, arg1, arg2]/ (0, 0, 0, 0, "", NULL),
		  pid:xenstored:readchn-53488b87880000004889f14c8b4820418bb100080000418b8104080000:returned
			/__xs_guest_got[arg1, __XS_IS_MSG]/ (__xs_tx, self->__xs_guest, 0, self->__xs_type, __xs_said, (struct __xs_guest *)self->__xs_guest_conn),
		  pid:xenstored:readchn-f30f1efa53488b87980000004889f14c8b4810418bb100080000418b8104080000:entry
			/__xs_note_420[arg0, arg1, arg2]/ (0, 0, 0, 0, "", NULL),
		  pid:xenstored:readchn-f30f1efa53488b87980000004889f14c8b4810418bb100080000418b8104080000:returned
			/__xs_guest_got[arg1, __XS_IS_MSG]/ (__xs_tx, self->__xs_guest, 0, self->__xs_type, __xs_said, (struct __xs_guest *)self->__xs_guest_conn);

	probe reply(uint32_t tx, uint32_t dom, int pid, uint32_t type, string text, struct __xs_guest *g)
		: (uint32_t tx, uint32_t dom, int pid, uint32_t type, string text, xsinfo_t *g)
		= pid:xenstored:writechn-53488b47704989f84c8b4828418b8908080000418b810c080000:entry
			/__xs_note_414[arg0, arg1, arg2]/ (0, 0, 0, 0, "", NULL),
		  pid:xenstored:writechn-53488b47704989f84c8b4828418b8908080000418b810c080000:returned
			/__xs_guest_sent[arg1, __XS_IS_REPLY]/ (__xs_tx, self->__xs_guest, 0, self->__xs_type, __xs_said, (struct __xs_guest *)self->__xs_guest_conn),
		  pid:xenstored:writechn-53488b8f880000004889f84c8b4120418b9808080000418bb80c080000:entry
			/__xs_note_417[arg0, arg1, arg2]/ (0, 0, 0, 0, "", NULL),
		  pid:xenstored:writechn-53488b8f880000004889f84c8b4120418b9808080000418bb80c080000:returned
			/__xs_guest_sent[arg1, __XS_IS_REPLY]/ (__xs_tx, self->__xs_guest, 0, self->__xs_type, __xs_said, (struct __xs_guest *)self->__xs_guest_conn),
		  pid:xenstored:writechn-f30f1efa53488b8f980000004889f84c8b4110418b9808080000418bb80c080000:entry
			/__xs_note_420[arg0, arg1, arg2]/ (0, 0, 0, 0, "", NULL),
		  pid:xenstored:writechn-f30f1efa53488b8f980000004889f84c8b4110418b9808080000418bb80c080000:returned
			/__xs_guest_sent[arg1, __XS_IS_REPLY]/ (__xs_tx, self->__xs_guest, 0, self->__xs_type, __xs_said, (struct __xs_guest *)self->__xs_guest_conn);

	probe error(uint32_t tx, uint32_t dom, int pid, string text, struct __xs_guest *g)
		: (uint32_t tx, uint32_t dom, int pid, string text, xsinfo_t *g)
		= pid:xenstored:writechn-53488b47704989f84c8b4828418b8908080000418b810c080000:entry
			/__xs_note_414[arg0, arg1, arg2]/ (0, 0, 0, "", NULL),
		  pid:xenstored:writechn-53488b47704989f84c8b4828418b8908080000418b810c080000:returned
			/__xs_guest_sent[arg1, __XS_IS_ERROR]/ (__xs_tx, self->__xs_guest, 0, __xs_said, (struct __xs_guest *)self->__xs_guest_conn),
		  pid:xenstored:writechn-53488b8f880000004889f84c8b4120418b9808080000418bb80c080000:entry
			/__xs_note_417[arg0, arg1, arg2]/ (0, 0, 0, "", NULL),
		  pid:xenstored:writechn-53488b8f880000004889f84c8b4120418b9808080000418bb80c080000:returned
			/__xs_guest_sent[arg1, __XS_IS_ERROR]/ (__xs_tx, self->__xs_guest, 0, __xs_said, (struct __xs_guest *)self->__xs_guest_conn),
		  pid:xenstored:writechn-f30f1efa53488b8f980000004889f84c8b4110418b9808080000418bb80c080000:entry
			/__xs_note_420[arg0, arg1, arg2]/ (0, 0, 0, "", NULL),
		  pid:xenstored:writechn-f30f1efa53488b8f980000004889f84c8b4110418b9808080000418bb80c080000:returned
			/__xs_guest_sent[arg1, __XS_IS_ERROR]/ (__xs_tx, self->__xs_guest, 0, __xs_said, (struct __xs_guest *)self->__xs_guest_conn);

	probe watch_event(uint32_t dom, int pid, string text, struct __xs_guest *g)
		: (uint32_t dom, int pid, string text, xsinfo_t *g)
		= pid:xenstored:writechn-53488b47704989f84c8b4828418b8908080000418b810c080000:entry
			/__xs_note_414[arg0, arg1, arg2]/ (0, 0, "", NULL),
		  pid:xenstored:writechn-53488b47704989f84c8b4828418b8908080000418b810c080000:returned
			/__xs_guest_sent[arg1, __XS_IS_WATCH_EVENT]/ (self->__xs_guest, 0, __xs_said, (struct __xs_guest *)self->__xs_guest_conn),
		  pid:xenstored:writechn-53488b8f880000004889f84c8b4120418b9808080000418bb80c080000:entry
			/__xs_note_417[arg0, arg1, arg2]/ (0, 0, "", NULL),
		  pid:xenstored:writechn-53488b8f880000004889f84c8b4120418b9808080000418bb80c080000:returned
			/__xs_guest_sent[arg1, __XS_IS_WATCH_EVENT]/ (self->__xs_guest, 0, __xs_said, (struct __xs_guest *)self->__xs_guest_conn),
		  pid:xenstored:writechn-f30f1efa53488b8f980000004889f84c8b4110418b9808080000418bb80c080000:entry
			/__xs_note_420[arg0, arg1, arg2]/ (0, 0, "", NULL),
		  pid:xenstored:writechn-f30f1efa53488b8f980000004889f84c8b4110418b9808080000418bb80c080000:returned
			/__xs_guest_sent[arg1, __XS_IS_WATCH_EVENT]/ (self->__xs_guest, 0, __xs_said, (struct __xs_guest *)self->__xs_guest_conn);
};

#pragma D attributes Evolving/Evolving/Common provider xenstored provider
#pragma D attributes Private/Private/Unknown provider xenstored module
#pragma D attributes Private/Private/Unknown provider xenstored function
#pragma D attributes Evolving/Evolving/Common provider xenstored name
#pragma D attributes Evolving/Evolving/Common provider xenstored args
#pragma D attributes Evolving/Evolving/Common provider xenstore provider
#pragma D attributes Private/Private/Unknown provider xenstore module
#pragma D attributes Private/Private/Unknown provider xenstore function
#pragma D attributes Evolving/Evolving/Common provider xenstore name
#pragma D attributes Evolving/Evolving/Common provider xenstore args
