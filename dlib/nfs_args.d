/* SPDX-License-Identifier: MIT */
/*
 * Calls of the NFS server, from the structures of the modules nfsd and sunrpc. This file is left out while nfsd is not loaded.
 *
 * One thread of the server has one call at a time. A call is known by the time at which its thread has got it (rq_stime).
 */
#pragma D depends_on module nfsd
#pragma D depends_on library nfs.d
#pragma D depends_on library path.d

self uint64_t __nfs_call;             /* rq_stime of the call that the next two are about */
self uint64_t __nfs_at;               /* timestamp of the firing that began it */
self struct dentry *__nfs_entry;
self struct vfsmount *__nfs_mount;
self uint32_t __nfs_bytes;

inline string __nfs_name[char *P, uint32_t N] = substr(stringof(P), 0, N);
inline string __nfs_address[uintptr_t A] =
	*(uint16_t *)A == AF_INET ? inet_ntoa(&((struct sockaddr_in *)A)->sin_addr.s_addr) :
	*(uint16_t *)A == AF_INET6 ? __ip6_text[&((struct sockaddr_in6 *)A)->sin6_addr] : "<unknown>";

/* NFS is program 100003; the server also answers calls of program 100227 (NFS_ACL), which has procedures of the same numbers */
inline int __is_nfs[struct svc_rqst *R, uint32_t V, uint32_t P] =
	R->rq_prog == 100003 && R->rq_vers == V && R->rq_proc == P;

/*
 * Version 3: a call's arguments are decoded when its first handle is looked at, whether that succeeds
 * (nfsd_fh_verify) or not (nfsd_fh_verify_err). True for all clauses of that firing.
 */
inline int __nfs3_begins[struct svc_rqst *R, struct svc_fh *F, uint32_t P] =
	__is_nfs[R, 3, P] &&
	(self->__nfs_call != R->rq_stime ?
	 (self->__nfs_entry = F->fh_dentry,
	  self->__nfs_mount = F->fh_export == NULL ? NULL : F->fh_export->ex_path.mnt,
	  self->__nfs_call = R->rq_stime, self->__nfs_at = timestamp) : 0, self->__nfs_at == timestamp);
inline int __nfs3_ends[struct svc_rqst *R, uint32_t P] = __is_nfs[R, 3, P] && self->__nfs_call == R->rq_stime;

/*
 * Version 4: a call has several operations, and nfsd_compound_status says that one is done. It names no call: that is what
 * the kernel keeps with the server's thread.
 */
inline struct nfsd4_compoundargs *__nfs4_args[struct svc_rqst *R] = (struct nfsd4_compoundargs *)R->rq_argp;
inline struct nfsd4_compoundres *__nfs4_results[struct svc_rqst *R] = (struct nfsd4_compoundres *)R->rq_resp;
inline struct svc_rqst *__nfs4_call = (struct svc_rqst *)((struct kthread *)curthread->worker_private)->data;
inline struct nfsd4_op *__nfs4_op[uint32_t I] = &__nfs4_args[__nfs4_call]->ops[I];
inline int __nfs4_begins[struct svc_rqst *R, uint32_t N] =
	__nfs4_args[R]->opcnt > 0 && __nfs4_args[R]->ops[0].opnum == N;
/* A arguments, R results so far, the last one with status S: the next operation begins when an operation has succeeded */
inline int __nfs4_goes_on[uint32_t A, uint32_t R, uint32_t S, uint32_t N] = S == 0 && R < A && __nfs4_op[R]->opnum == N;
inline int __nfs4_ends[uint32_t R, uint32_t N] = R > 0 && __nfs4_op[R - 1]->opnum == N;
/* a compound may be refused as a whole: then it has no start */
inline int __nfs4_note[struct svc_rqst *R] = (self->__nfs_call = R->rq_stime, 1);
inline int __nfs4_is_over[struct svc_rqst *R] = __is_nfs[R, 4, 1] && self->__nfs_call == R->rq_stime;

/* ---- both versions ---- */

translator conninfo_t <struct svc_rqst *R> {
	ci_local = __nfs_address[(uintptr_t)&R->rq_daddr];
	ci_remote = __nfs_address[(uintptr_t)&R->rq_addr];
	ci_protocol = *(uint16_t *)&R->rq_addr == AF_INET6 &&
		      !__is_mapped[&((struct sockaddr_in6 *)&R->rq_addr)->sin6_addr] ? "ipv6" : "ipv4";
};

translator nfsv3opinfo_t <struct svc_rqst *R> {
	noi_xid = ntohl(R->rq_xid);
	noi_cred = &R->rq_cred;
	/* at the end, the server has let go of the file: what was noted at the start is still in the kernel's cache of names */
	noi_curpath = self->__nfs_call == R->rq_stime && self->__nfs_entry != NULL && self->__nfs_mount != NULL ?
		      __entry_path[self->__nfs_entry, self->__nfs_mount] : "<unknown>";
};

inline struct svc_fh *__nfs4_current[struct svc_rqst *R] = &__nfs4_results[R]->cstate.current_fh;
translator nfsv4opinfo_t <struct svc_rqst *R> {
	noi_xid = ntohl(R->rq_xid);
	noi_cred = &R->rq_cred;
	noi_curpath = R->rq_proc == 1 && __nfs4_current[R]->fh_dentry != NULL && __nfs4_current[R]->fh_export != NULL ?
		      __entry_path[__nfs4_current[R]->fh_dentry, __nfs4_current[R]->fh_export->ex_path.mnt] : "<unknown>";
};

/* ---- version 3 ---- */

translator diropargs3 <struct nfsd3_diropargs *A> { name = __nfs_name[A->name, A->len]; };
translator diropargs3 <struct nfsd3_createargs *A> { name = __nfs_name[A->name, A->len]; };
translator diropargs3 <struct nfsd3_mknodargs *A> { name = __nfs_name[A->name, A->len]; };
translator diropargs3 <struct nfsd3_symlinkargs *A> { name = __nfs_name[A->fname, A->flen]; };
translator diropargs3 <struct nfsd3_linkargs *A> { name = __nfs_name[A->tname, A->tlen]; };
/* of a rename, the second name; the first one is the first member of RENAME3args */
translator diropargs3 <struct nfsd3_renameargs *A> { name = __nfs_name[A->tname, A->tlen]; };
struct __nfs3_from { int __no_member; };
translator diropargs3 <struct __nfs3_from *A> {
	name = __nfs_name[((struct nfsd3_renameargs *)A)->fname, ((struct nfsd3_renameargs *)A)->flen];
};
translator createhow3 <struct nfsd3_createargs *A> { mode = A->createmode; };
translator symlinkdata3 <struct nfsd3_symlinkargs *A> { symlink_data = __nfs_name[A->tname, A->tlen]; };
translator mknoddata3 <struct nfsd3_mknodargs *A> { type = A->ftype; };
translator __nfs_data <struct nfsd3_writeargs *A> { data_len = A->len; };

translator LOOKUP3args <struct nfsd3_diropargs *A> { what = xlate<diropargs3>(A); };
translator ACCESS3args <struct nfsd3_accessargs *A> { access = A->access; };
translator READ3args <struct nfsd3_readargs *A> { offset = A->offset; count = A->count; };
translator WRITE3args <struct nfsd3_writeargs *A> {
	offset = A->offset;
	count = A->count;
	stable = A->stable;
	data = xlate<__nfs_data>(A);
};
translator CREATE3args <struct nfsd3_createargs *A> { where = xlate<diropargs3>(A); how = xlate<createhow3>(A); };
translator MKDIR3args <struct nfsd3_createargs *A> { where = xlate<diropargs3>(A); };
translator SYMLINK3args <struct nfsd3_symlinkargs *A> { where = xlate<diropargs3>(A); symlink = xlate<symlinkdata3>(A); };
translator MKNOD3args <struct nfsd3_mknodargs *A> { where = xlate<diropargs3>(A); what = xlate<mknoddata3>(A); };
translator REMOVE3args <struct nfsd3_diropargs *A> { object = xlate<diropargs3>(A); };
translator RMDIR3args <struct nfsd3_diropargs *A> { object = xlate<diropargs3>(A); };
translator RENAME3args <struct nfsd3_renameargs *A> {
	from = xlate<diropargs3>((struct __nfs3_from *)A);
	to = xlate<diropargs3>(A);
};
translator LINK3args <struct nfsd3_linkargs *A> { link = xlate<diropargs3>(A); };
translator READDIR3args <struct nfsd3_readdirargs *A> { cookie = A->cookie; count = A->count; };
translator READDIRPLUS3args <struct nfsd3_readdirargs *A> { cookie = A->cookie; maxcount = A->count; };
translator COMMIT3args <struct nfsd3_commitargs *A> { offset = A->offset; count = A->count; };

translator __nfs3_res <struct nfsd3_attrstat *R> { status = ntohl(R->status); };
translator __nfs3_res <struct nfsd3_diropres *R> { status = ntohl(R->status); };
translator __nfs3_res <struct nfsd3_readlinkres *R> { status = ntohl(R->status); };
translator __nfs3_res <struct nfsd3_renameres *R> { status = ntohl(R->status); };
translator __nfs3_res <struct nfsd3_linkres *R> { status = ntohl(R->status); };
translator __nfs3_res <struct nfsd3_readdirres *R> { status = ntohl(R->status); };
translator __nfs3_res <struct nfsd3_fsstatres *R> { status = ntohl(R->status); };
translator __nfs3_res <struct nfsd3_fsinfores *R> { status = ntohl(R->status); };
translator __nfs3_res <struct nfsd3_pathconfres *R> { status = ntohl(R->status); };
translator __nfs3_res <struct nfsd3_commitres *R> { status = ntohl(R->status); };

translator ACCESS3resok <struct nfsd3_accessres *R> { access = R->access; };
translator ACCESS3res_u <struct nfsd3_accessres *R> { ok = xlate<ACCESS3resok>(R); };
translator ACCESS3res <struct nfsd3_accessres *R> { status = ntohl(R->status); res_u = xlate<ACCESS3res_u>(R); };

/* what has failed has moved no bytes, whatever is left in the structure */
translator __nfs_data <struct nfsd3_readres *R> { data_len = R->status == 0 ? R->count : 0; };
translator READ3resok <struct nfsd3_readres *R> {
	count = R->status == 0 ? R->count : 0;
	eof = R->status == 0 ? R->eof : 0;
	data = xlate<__nfs_data>(R);
};
translator READ3res_u <struct nfsd3_readres *R> { ok = xlate<READ3resok>(R); };
translator READ3res <struct nfsd3_readres *R> { status = ntohl(R->status); res_u = xlate<READ3res_u>(R); };

translator WRITE3resok <struct nfsd3_writeres *R> {
	count = R->status == 0 ? R->count : 0;
	committed = R->committed;
};
translator WRITE3res_u <struct nfsd3_writeres *R> { ok = xlate<WRITE3resok>(R); };
translator WRITE3res <struct nfsd3_writeres *R> { status = ntohl(R->status); res_u = xlate<WRITE3res_u>(R); };

/* ---- version 4 ---- */

translator COMPOUND4args <struct nfsd4_compoundargs *A> {
	tag = __nfs_name[A->tag, A->taglen];
	minorversion = A->minorversion;
	argarray_len = A->opcnt;
};
translator COMPOUND4res <struct nfsd4_compoundres *R> {
	status = ntohl(R->cstate.status);
	tag = __nfs_name[R->tag, R->taglen];
	resarray_len = R->opcnt;
};

translator ACCESS4args <struct nfsd4_op *O> { access = O->u.access.ac_req_access; };
translator CLOSE4args <struct nfsd4_op *O> { seqid = O->u.close.cl_seqid; };
translator COMMIT4args <struct nfsd4_op *O> { offset = O->u.commit.co_offset; count = O->u.commit.co_count; };
translator CREATE4args <struct nfsd4_op *O> {
	type = O->u.create.cr_type;
	objname = __nfs_name[O->u.create.cr_name, O->u.create.cr_namelen];
};
translator LINK4args <struct nfsd4_op *O> { newname = __nfs_name[O->u.link.li_name, O->u.link.li_namelen]; };
translator LOCK4args <struct nfsd4_op *O> {
	locktype = O->u.lock.lk_type;
	reclaim = O->u.lock.lk_reclaim;
	offset = O->u.lock.lk_offset;
	length = O->u.lock.lk_length;
};
translator LOCKT4args <struct nfsd4_op *O> {
	locktype = O->u.lockt.lt_type;
	offset = O->u.lockt.lt_offset;
	length = O->u.lockt.lt_length;
};
translator LOCKU4args <struct nfsd4_op *O> {
	locktype = O->u.locku.lu_type;
	seqid = O->u.locku.lu_seqid;
	offset = O->u.locku.lu_offset;
	length = O->u.locku.lu_length;
};
translator LOOKUP4args <struct nfsd4_op *O> { objname = __nfs_name[O->u.lookup.lo_name, O->u.lookup.lo_len]; };
translator OPEN4args <struct nfsd4_op *O> {
	seqid = O->u.open.op_seqid;
	share_access = O->u.open.op_share_access;
	share_deny = O->u.open.op_share_deny;
	opentype = O->u.open.op_create;
	claim = O->u.open.op_claim_type;
	file = __nfs_name[O->u.open.op_fname, O->u.open.op_fnamelen];
};
translator OPEN_DOWNGRADE4args <struct nfsd4_op *O> {
	seqid = O->u.open_downgrade.od_seqid;
	share_access = O->u.open_downgrade.od_share_access;
	share_deny = O->u.open_downgrade.od_share_deny;
};
translator READ4args <struct nfsd4_op *O> { offset = O->u.read.rd_offset; count = O->u.read.rd_length; };
translator READDIR4args <struct nfsd4_op *O> {
	cookie = O->u.readdir.rd_cookie;
	dircount = O->u.readdir.rd_dircount;
	maxcount = O->u.readdir.rd_maxcount;
};
translator REMOVE4args <struct nfsd4_op *O> { target = __nfs_name[O->u.remove.rm_name, O->u.remove.rm_namelen]; };
translator RENAME4args <struct nfsd4_op *O> {
	oldname = __nfs_name[O->u.rename.rn_sname, O->u.rename.rn_snamelen];
	newname = __nfs_name[O->u.rename.rn_tname, O->u.rename.rn_tnamelen];
};
translator SECINFO4args <struct nfsd4_op *O> { name = __nfs_name[O->u.secinfo.si_name, O->u.secinfo.si_namelen]; };
translator WRITE4args <struct nfsd4_op *O> {
	offset = O->u.write.wr_offset;
	stable = O->u.write.wr_stable_how;
	data_len = O->u.write.wr_buflen;
};

translator __nfs4_res <struct nfsd4_op *O> { status = ntohl(O->status); };
translator ACCESS4res <struct nfsd4_op *O> {
	status = ntohl(O->status);
	supported = O->u.access.ac_supported;
	access = O->u.access.ac_resp_access;
};
/* the operation does not keep how many bytes it has read: nfsd_read_done has told it */
translator READ4res <struct nfsd4_op *O> {
	status = ntohl(O->status);
	eof = O->status == 0 ? O->u.read.rd_eof : 0;
	data_len = O->status == 0 ? self->__nfs_bytes : 0;
};
translator WRITE4res <struct nfsd4_op *O> {
	status = ntohl(O->status);
	count = O->status == 0 ? O->u.write.wr_bytes_written : 0;
	committed = O->u.write.wr_how_written;
};
