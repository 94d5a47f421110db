/* SPDX-License-Identifier: MIT */
/*
 * Providers ap, http and apache for an Apache httpd 2.4 that was built without probes. The offsets
 * are those of request_rec, conn_rec and server_rec in httpd.h, which are the same in all of 2.4
 * (module magic number 20120211). The program is apache2 or httpd.
 */
#pragma D depends_on library net.d

/* request_rec and conn_rec */
struct __ap_request { char r; };
struct __ap_conn { char c; };

inline uintptr_t __ap_word[uintptr_t A] = *(userland uintptr_t *)A;
inline int __ap_int[uintptr_t A] = *(userland int *)A;
inline userland char *__ap_uri[uintptr_t R] = (userland char *)__ap_word[R + 336];
inline userland char *__ap_method[uintptr_t R] = (userland char *)__ap_word[R + 112];
inline int __ap_status[uintptr_t R] = __ap_int[R + 104];

/* what the http provider of mod_dtrace tells of a request; the headers are in no fixed place */
typedef struct httpinfo {
	string hri_uri;
	string hri_method;
	string hri_referer;   /* "" */
	string hri_useragent; /* "" */
	uint64_t hri_request; /* address of the request_rec */
	uint64_t hri_bytesread;
	uint64_t hri_byteswritten;
	uint32_t hri_respcode;
} httpinfo_t;

translator httpinfo_t <userland struct __ap_request *R> {
	hri_uri = stringof(__ap_uri[(uintptr_t)R]);
	hri_method = stringof(__ap_method[(uintptr_t)R]);
	hri_referer = "";
	hri_useragent = "";
	hri_request = (uintptr_t)R;
	hri_bytesread = *(userland uint64_t *)((uintptr_t)R + 224);
	hri_byteswritten = *(userland uint64_t *)((uintptr_t)R + 152);
	hri_respcode = __ap_status[(uintptr_t)R];
};

translator conninfo_t <userland struct __ap_conn *C> {
	ci_local = stringof((userland char *)__ap_word[(uintptr_t)C + 64]);
	ci_remote = stringof((userland char *)__ap_word[(uintptr_t)C + 40]);
	ci_protocol = "tcp";
};

provider ap {
	probe process__request__entry(userland void *r, userland char *uri)
		= pid:[ah][pt][at][cp]*:ap_process_async_request:entry
		((userland void *)arg0, __ap_uri[arg0]);
	probe process__request__return(userland void *r, userland char *uri, int status)
		= pid:[ah][pt][at][cp]*:ap_process_request_after_handler:entry
		((userland void *)arg0, __ap_uri[arg0], __ap_status[arg0]);
	probe internal__redirect(userland char *old, userland char *new)
		= pid:[ah][pt][at][cp]*:ap_internal_redirect:entry
		(__ap_uri[arg1], (userland char *)arg0);
	/* the request_rec is made in this function: at its entry, there is none */
	probe read__request__entry(userland void *r, userland void *c)
		= pid:[ah][pt][at][cp]*:ap_read_request:entry (0, (userland void *)arg0);
	probe read__request__success(userland void *r, userland char *method, userland char *uri,
		userland char *server, int status)
		= pid:[ah][pt][at][cp]*:ap_read_request:return /arg1 != 0/
		((userland void *)arg1, __ap_method[arg1], __ap_uri[arg1],
		 (userland char *)__ap_word[__ap_word[arg1 + 16] + 96], __ap_status[arg1]);
	probe read__request__failure(userland void *r)
		= pid:[ah][pt][at][cp]*:ap_read_request:return /arg1 == 0/ (0);

	/* hooks: all modules together; "dispatch" would be each module */
	probe post_read_request__entry() = pid:[ah][pt][at][cp]*:ap_run_post_read_request:entry ();
	probe post_read_request__return(int rv) = pid:[ah][pt][at][cp]*:ap_run_post_read_request:return ((int)arg1);
	probe translate_name__entry() = pid:[ah][pt][at][cp]*:ap_run_translate_name:entry ();
	probe translate_name__return(int rv) = pid:[ah][pt][at][cp]*:ap_run_translate_name:return ((int)arg1);
	probe handler__entry() = pid:[ah][pt][at][cp]*:ap_run_handler:entry ();
	probe handler__return(int rv) = pid:[ah][pt][at][cp]*:ap_run_handler:return ((int)arg1);
	probe log_transaction__entry() = pid:[ah][pt][at][cp]*:ap_run_log_transaction:entry ();
	probe log_transaction__return(int rv) = pid:[ah][pt][at][cp]*:ap_run_log_transaction:return ((int)arg1);
	probe process_connection__entry() = pid:[ah][pt][at][cp]*:ap_run_process_connection:entry ();
	probe process_connection__return(int rv) = pid:[ah][pt][at][cp]*:ap_run_process_connection:return ((int)arg1);
};

provider http {
	probe request__start(userland struct __ap_conn *c, userland struct __ap_request *r)
		: (conninfo_t *c, httpinfo_t *r)
		= pid:[ah][pt][at][cp]*:ap_process_async_request:entry
		((userland struct __ap_conn *)__ap_word[arg0 + 8], (userland struct __ap_request *)arg0);
	probe request__done(userland struct __ap_conn *c, userland struct __ap_request *r)
		: (conninfo_t *c, httpinfo_t *r)
		= pid:[ah][pt][at][cp]*:ap_run_log_transaction:entry
		((userland struct __ap_conn *)__ap_word[arg0 + 8], (userland struct __ap_request *)arg0);
};

provider apache {
	probe accept__connection() = "the arguments of mod_dtrace's probes are not known here: ap*:::process_connection-entry fires for each connection";
	probe log__request() = "the arguments of mod_dtrace's probes are not known here: http*:::request-done and ap*:::process-request-return fire for each request";
};
