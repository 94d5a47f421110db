/* SPDX-License-Identifier: MIT */
/*
 * Provider nfsv3: calls of version 3 that this machine's NFS server carries out (modules nfsd and sunrpc).
 *
 * A call starts when the server looks at its first handle, and is done when its answer is sent. Calls that are never carried out
 * fire no probe: those with arguments that make no sense, and those that are answered from the cache of answers.
 */
#pragma D depends_on library nfs_args.d

provider nfsv3 {
	/* no handle, no arguments */
	probe op__null__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv3opinfo_t *o)
		= rawtp:sunrpc::svc_process /__is_nfs[args[0], 3, 0]/ (args[0], args[0]);
	probe op__null__done(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv3opinfo_t *o)
		= rawtp:sunrpc::svc_send /__is_nfs[args[0], 3, 0]/ (args[0], args[0]);

	probe op__getattr__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv3opinfo_t *o)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 1]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 1]/ (args[0], args[0]);
	probe op__getattr__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_attrstat *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, GETATTR3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 1], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 1], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 1]/ (args[0], args[0], args[0]->rq_resp);

	probe op__setattr__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv3opinfo_t *o)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 2]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 2]/ (args[0], args[0]);
	probe op__setattr__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_attrstat *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, SETATTR3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 2], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 2], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 2]/ (args[0], args[0], args[0]->rq_resp);

	probe op__lookup__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_diropargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, LOOKUP3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 3]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 3]/ (args[0], args[0], args[0]->rq_argp);
	probe op__lookup__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_diropres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, LOOKUP3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 3], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 3], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 3]/ (args[0], args[0], args[0]->rq_resp);

	probe op__access__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_accessargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, ACCESS3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 4]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 4]/ (args[0], args[0], args[0]->rq_argp);
	probe op__access__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_accessres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, ACCESS3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 4], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 4], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 4]/ (args[0], args[0], args[0]->rq_resp);

	probe op__readlink__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv3opinfo_t *o)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 5]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 5]/ (args[0], args[0]);
	probe op__readlink__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_readlinkres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, READLINK3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 5], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 5], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 5]/ (args[0], args[0], args[0]->rq_resp);

	probe op__read__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_readargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, READ3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 6]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 6]/ (args[0], args[0], args[0]->rq_argp);
	probe op__read__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_readres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, READ3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 6], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 6], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 6]/ (args[0], args[0], args[0]->rq_resp);

	probe op__write__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_writeargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, WRITE3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 7]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 7]/ (args[0], args[0], args[0]->rq_argp);
	probe op__write__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_writeres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, WRITE3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 7], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 7], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 7]/ (args[0], args[0], args[0]->rq_resp);

	probe op__create__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_createargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, CREATE3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 8]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 8]/ (args[0], args[0], args[0]->rq_argp);
	probe op__create__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_diropres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, CREATE3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 8], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 8], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 8]/ (args[0], args[0], args[0]->rq_resp);

	probe op__mkdir__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_createargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, MKDIR3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 9]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 9]/ (args[0], args[0], args[0]->rq_argp);
	probe op__mkdir__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_diropres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, MKDIR3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 9], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 9], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 9]/ (args[0], args[0], args[0]->rq_resp);

	probe op__symlink__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_symlinkargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, SYMLINK3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 10]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 10]/ (args[0], args[0], args[0]->rq_argp);
	probe op__symlink__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_diropres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, SYMLINK3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 10], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 10], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 10]/ (args[0], args[0], args[0]->rq_resp);

	probe op__mknod__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_mknodargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, MKNOD3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 11]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 11]/ (args[0], args[0], args[0]->rq_argp);
	probe op__mknod__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_diropres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, MKNOD3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 11], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 11], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 11]/ (args[0], args[0], args[0]->rq_resp);

	probe op__remove__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_diropargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, REMOVE3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 12]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 12]/ (args[0], args[0], args[0]->rq_argp);
	probe op__remove__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_attrstat *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, REMOVE3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 12], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 12], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 12]/ (args[0], args[0], args[0]->rq_resp);

	probe op__rmdir__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_diropargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, RMDIR3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 13]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 13]/ (args[0], args[0], args[0]->rq_argp);
	probe op__rmdir__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_attrstat *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, RMDIR3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 13], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 13], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 13]/ (args[0], args[0], args[0]->rq_resp);

	probe op__rename__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_renameargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, RENAME3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 14]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 14]/ (args[0], args[0], args[0]->rq_argp);
	probe op__rename__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_renameres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, RENAME3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 14], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 14], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 14]/ (args[0], args[0], args[0]->rq_resp);

	probe op__link__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_linkargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, LINK3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 15]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 15]/ (args[0], args[0], args[0]->rq_argp);
	probe op__link__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_linkres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, LINK3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 15], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 15], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 15]/ (args[0], args[0], args[0]->rq_resp);

	probe op__readdir__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_readdirargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, READDIR3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 16]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 16]/ (args[0], args[0], args[0]->rq_argp);
	probe op__readdir__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_readdirres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, READDIR3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 16], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 16], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 16]/ (args[0], args[0], args[0]->rq_resp);

	probe op__readdirplus__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_readdirargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, READDIRPLUS3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 17]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 17]/ (args[0], args[0], args[0]->rq_argp);
	probe op__readdirplus__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_readdirres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, READDIRPLUS3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 17], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 17], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 17]/ (args[0], args[0], args[0]->rq_resp);

	probe op__fsstat__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv3opinfo_t *o)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 18]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 18]/ (args[0], args[0]);
	probe op__fsstat__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_fsstatres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, FSSTAT3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 18], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 18], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 18]/ (args[0], args[0], args[0]->rq_resp);

	probe op__fsinfo__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv3opinfo_t *o)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 19]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 19]/ (args[0], args[0]);
	probe op__fsinfo__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_fsinfores *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, FSINFO3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 19], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 19], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 19]/ (args[0], args[0], args[0]->rq_resp);

	probe op__pathconf__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv3opinfo_t *o)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 20]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 20]/ (args[0], args[0]);
	probe op__pathconf__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_pathconfres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, PATHCONF3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 20], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 20], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 20]/ (args[0], args[0], args[0]->rq_resp);

	probe op__commit__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_commitargs *a)
		: (conninfo_t *c, nfsv3opinfo_t *o, COMMIT3args *a)
		= rawtp:nfsd::nfsd_fh_verify /__nfs3_begins[args[0], args[1], 21]/ (args[0], args[0], args[0]->rq_argp),
		  rawtp:nfsd::nfsd_fh_verify_err /__nfs3_begins[args[0], args[1], 21]/ (args[0], args[0], args[0]->rq_argp);
	probe op__commit__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd3_commitres *r)
		: (conninfo_t *c, nfsv3opinfo_t *o, COMMIT3res *r)
		= rawtp:nfsd::nfsd_fh_verify /(__nfs3_begins[args[0], args[1], 21], 0)/ (args[0], args[0], NULL),
		  rawtp:nfsd::nfsd_fh_verify_err /(__nfs3_begins[args[0], args[1], 21], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs3_ends[args[0], 21]/ (args[0], args[0], args[0]->rq_resp);
};

#pragma D attributes Evolving/Evolving/ISA provider nfsv3 provider
#pragma D attributes Private/Private/Unknown provider nfsv3 module
#pragma D attributes Private/Private/Unknown provider nfsv3 function
#pragma D attributes Evolving/Evolving/ISA provider nfsv3 name
#pragma D attributes Evolving/Evolving/ISA provider nfsv3 args
