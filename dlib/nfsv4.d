/* SPDX-License-Identifier: MIT */
/*
 * Provider nfsv4: compounds, and the operations in them, that this machine's NFS server carries out (modules nfsd and sunrpc).
 *
 * The first operation starts with its compound, each other one when the operation before it is done; therefore what the server does
 * between two operations belongs to the second one. Probes of operations that are done stand first: in the same moment, one operation
 * is done before the next one starts.
 */
#pragma D depends_on library nfs_args.d

provider nfsv4 {
	probe null__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:sunrpc::svc_process /__is_nfs[args[0], 4, 0]/ (args[0], args[0]);
	probe null__done(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:sunrpc::svc_send /__is_nfs[args[0], 4, 0]/ (args[0], args[0]);

	probe compound__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_compoundargs *a)
		: (conninfo_t *c, nfsv4opinfo_t *o, COMPOUND4args *a)
		= rawtp:nfsd::nfsd_compound (args[0], args[0], args[0]->rq_argp);
	/* the answer is sent; the server has let go of the current file */
	probe compound__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_compoundres *r)
		: (conninfo_t *c, nfsv4opinfo_t *o, COMPOUND4res *r)
		= rawtp:nfsd::nfsd_compound /(__nfs4_note[args[0]], 0)/ (args[0], args[0], NULL),
		  rawtp:sunrpc::svc_send /__nfs4_is_over[args[0]]/ (args[0], args[0], args[0]->rq_resp);

	probe cb__recall__start() = "rawtp:nfsd::nfsd_cb_recall and rawtp:nfsd::nfsd_cb_recall_done tell of delegations that the server wants back";
	probe cb__recall__done() = "rawtp:nfsd::nfsd_cb_recall and rawtp:nfsd::nfsd_cb_recall_done tell of delegations that the server wants back";

	probe op__access__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, ACCESS4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 3]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__close__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, CLOSE4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 4]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__commit__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, COMMIT4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 5]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__create__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, CREATE4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 6]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__delegpurge__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, DELEGPURGE4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 7]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__delegreturn__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, DELEGRETURN4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 8]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__getattr__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, GETATTR4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 9]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__getfh__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, GETFH4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 10]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__link__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, LINK4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 11]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__lock__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, LOCK4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 12]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__lockt__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, LOCKT4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 13]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__locku__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, LOCKU4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 14]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__lookup__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, LOOKUP4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 15]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__lookupp__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, LOOKUPP4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 16]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__nverify__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, NVERIFY4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 17]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__open__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, OPEN4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 18]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__openattr__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, OPENATTR4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 19]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__open__confirm__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, OPEN_CONFIRM4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 20]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__open__downgrade__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, OPEN_DOWNGRADE4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 21]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__putfh__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, PUTFH4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 22]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__putpubfh__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, PUTPUBFH4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 23]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__putrootfh__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, PUTROOTFH4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 24]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__read__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, READ4res *r)
		= rawtp:nfsd::nfsd_read_start /(self->__nfs_bytes = 0, 0)/ (NULL, NULL, NULL),
		  rawtp:nfsd::nfsd_read_done /(self->__nfs_bytes = args[3], 0)/ (NULL, NULL, NULL),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 25]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__readdir__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, READDIR4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 26]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__readlink__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, READLINK4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 27]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__remove__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, REMOVE4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 28]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__rename__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, RENAME4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 29]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__renew__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, RENEW4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 30]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__restorefh__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, RESTOREFH4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 31]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__savefh__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, SAVEFH4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 32]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__secinfo__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, SECINFO4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 33]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__setattr__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, SETATTR4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 34]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__setclientid__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, SETCLIENTID4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 35]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__setclientid__confirm__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, SETCLIENTID_CONFIRM4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 36]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__verify__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, VERIFY4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 37]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__write__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, WRITE4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 38]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__release__lockowner__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, RELEASE_LOCKOWNER4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 39]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__backchannel__ctl__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, BACKCHANNEL_CTL4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 40]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__bind__conn__to__session__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, BIND_CONN_TO_SESSION4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 41]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__exchange__id__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, EXCHANGE_ID4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 42]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__create__session__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, CREATE_SESSION4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 43]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__destroy__session__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, DESTROY_SESSION4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 44]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__free__stateid__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, FREE_STATEID4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 45]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__get__dir__delegation__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, GET_DIR_DELEGATION4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 46]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__getdeviceinfo__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, GETDEVICEINFO4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 47]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__getdevicelist__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, GETDEVICELIST4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 48]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__layoutcommit__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, LAYOUTCOMMIT4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 49]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__layoutget__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, LAYOUTGET4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 50]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__layoutreturn__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, LAYOUTRETURN4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 51]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__secinfo__no__name__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, SECINFO_NO_NAME4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 52]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__sequence__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, SEQUENCE4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 53]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__set__ssv__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, SET_SSV4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 54]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__test__stateid__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, TEST_STATEID4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 55]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__want__delegation__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, WANT_DELEGATION4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 56]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__destroy__clientid__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, DESTROY_CLIENTID4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 57]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__reclaim__complete__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, RECLAIM_COMPLETE4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 58]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__allocate__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, ALLOCATE4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 59]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__copy__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, COPY4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 60]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__copy__notify__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, COPY_NOTIFY4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 61]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__deallocate__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, DEALLOCATE4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 62]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__io__advise__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, IO_ADVISE4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 63]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__layouterror__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, LAYOUTERROR4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 64]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__layoutstats__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, LAYOUTSTATS4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 65]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__offload__cancel__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, OFFLOAD_CANCEL4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 66]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__offload__status__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, OFFLOAD_STATUS4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 67]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__read__plus__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, READ_PLUS4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 68]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__seek__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, SEEK4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 69]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__write__same__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, WRITE_SAME4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 70]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__clone__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, CLONE4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 71]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__getxattr__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, GETXATTR4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 72]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__setxattr__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, SETXATTR4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 73]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__listxattrs__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, LISTXATTRS4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 74]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__removexattr__done(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *r) : (conninfo_t *c, nfsv4opinfo_t *o, REMOVEXATTR4res *r)
		= rawtp:nfsd::nfsd_compound_status /__nfs4_ends[args[1], 75]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1] - 1]);

	probe op__access__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, ACCESS4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 3]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 3]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__close__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, CLOSE4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 4]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 4]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__commit__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, COMMIT4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 5]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 5]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__create__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, CREATE4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 6]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 6]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__delegpurge__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 7]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 7]/ (__nfs4_call, __nfs4_call);

	probe op__delegreturn__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 8]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 8]/ (__nfs4_call, __nfs4_call);

	probe op__getattr__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 9]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 9]/ (__nfs4_call, __nfs4_call);

	probe op__getfh__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 10]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 10]/ (__nfs4_call, __nfs4_call);

	probe op__link__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, LINK4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 11]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 11]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__lock__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, LOCK4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 12]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 12]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__lockt__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, LOCKT4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 13]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 13]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__locku__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, LOCKU4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 14]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 14]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__lookup__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, LOOKUP4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 15]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 15]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__lookupp__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 16]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 16]/ (__nfs4_call, __nfs4_call);

	probe op__nverify__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 17]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 17]/ (__nfs4_call, __nfs4_call);

	probe op__open__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, OPEN4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 18]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 18]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__openattr__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 19]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 19]/ (__nfs4_call, __nfs4_call);

	probe op__open__confirm__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 20]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 20]/ (__nfs4_call, __nfs4_call);

	probe op__open__downgrade__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, OPEN_DOWNGRADE4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 21]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 21]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__putfh__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 22]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 22]/ (__nfs4_call, __nfs4_call);

	probe op__putpubfh__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 23]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 23]/ (__nfs4_call, __nfs4_call);

	probe op__putrootfh__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 24]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 24]/ (__nfs4_call, __nfs4_call);

	probe op__read__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, READ4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 25]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 25]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__readdir__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, READDIR4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 26]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 26]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__readlink__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 27]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 27]/ (__nfs4_call, __nfs4_call);

	probe op__remove__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, REMOVE4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 28]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 28]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__rename__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, RENAME4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 29]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 29]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__renew__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 30]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 30]/ (__nfs4_call, __nfs4_call);

	probe op__restorefh__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 31]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 31]/ (__nfs4_call, __nfs4_call);

	probe op__savefh__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 32]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 32]/ (__nfs4_call, __nfs4_call);

	probe op__secinfo__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, SECINFO4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 33]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 33]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__setattr__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 34]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 34]/ (__nfs4_call, __nfs4_call);

	probe op__setclientid__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 35]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 35]/ (__nfs4_call, __nfs4_call);

	probe op__setclientid__confirm__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 36]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 36]/ (__nfs4_call, __nfs4_call);

	probe op__verify__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 37]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 37]/ (__nfs4_call, __nfs4_call);

	probe op__write__start(struct svc_rqst *c, struct svc_rqst *o, struct nfsd4_op *a) : (conninfo_t *c, nfsv4opinfo_t *o, WRITE4args *a)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 38]/ (args[0], args[0], __nfs4_args[args[0]]->ops),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 38]/ (__nfs4_call, __nfs4_call, __nfs4_op[args[1]]);

	probe op__release__lockowner__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 39]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 39]/ (__nfs4_call, __nfs4_call);

	probe op__backchannel__ctl__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 40]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 40]/ (__nfs4_call, __nfs4_call);

	probe op__bind__conn__to__session__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 41]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 41]/ (__nfs4_call, __nfs4_call);

	probe op__exchange__id__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 42]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 42]/ (__nfs4_call, __nfs4_call);

	probe op__create__session__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 43]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 43]/ (__nfs4_call, __nfs4_call);

	probe op__destroy__session__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 44]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 44]/ (__nfs4_call, __nfs4_call);

	probe op__free__stateid__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 45]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 45]/ (__nfs4_call, __nfs4_call);

	probe op__get__dir__delegation__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 46]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 46]/ (__nfs4_call, __nfs4_call);

	probe op__getdeviceinfo__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 47]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 47]/ (__nfs4_call, __nfs4_call);

	probe op__getdevicelist__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 48]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 48]/ (__nfs4_call, __nfs4_call);

	probe op__layoutcommit__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 49]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 49]/ (__nfs4_call, __nfs4_call);

	probe op__layoutget__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 50]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 50]/ (__nfs4_call, __nfs4_call);

	probe op__layoutreturn__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 51]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 51]/ (__nfs4_call, __nfs4_call);

	probe op__secinfo__no__name__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 52]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 52]/ (__nfs4_call, __nfs4_call);

	probe op__sequence__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 53]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 53]/ (__nfs4_call, __nfs4_call);

	probe op__set__ssv__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 54]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 54]/ (__nfs4_call, __nfs4_call);

	probe op__test__stateid__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 55]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 55]/ (__nfs4_call, __nfs4_call);

	probe op__want__delegation__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 56]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 56]/ (__nfs4_call, __nfs4_call);

	probe op__destroy__clientid__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 57]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 57]/ (__nfs4_call, __nfs4_call);

	probe op__reclaim__complete__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 58]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 58]/ (__nfs4_call, __nfs4_call);

	probe op__allocate__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 59]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 59]/ (__nfs4_call, __nfs4_call);

	probe op__copy__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 60]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 60]/ (__nfs4_call, __nfs4_call);

	probe op__copy__notify__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 61]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 61]/ (__nfs4_call, __nfs4_call);

	probe op__deallocate__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 62]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 62]/ (__nfs4_call, __nfs4_call);

	probe op__io__advise__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 63]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 63]/ (__nfs4_call, __nfs4_call);

	probe op__layouterror__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 64]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 64]/ (__nfs4_call, __nfs4_call);

	probe op__layoutstats__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 65]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 65]/ (__nfs4_call, __nfs4_call);

	probe op__offload__cancel__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 66]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 66]/ (__nfs4_call, __nfs4_call);

	probe op__offload__status__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 67]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 67]/ (__nfs4_call, __nfs4_call);

	probe op__read__plus__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 68]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 68]/ (__nfs4_call, __nfs4_call);

	probe op__seek__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 69]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 69]/ (__nfs4_call, __nfs4_call);

	probe op__write__same__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 70]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 70]/ (__nfs4_call, __nfs4_call);

	probe op__clone__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 71]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 71]/ (__nfs4_call, __nfs4_call);

	probe op__getxattr__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 72]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 72]/ (__nfs4_call, __nfs4_call);

	probe op__setxattr__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 73]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 73]/ (__nfs4_call, __nfs4_call);

	probe op__listxattrs__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 74]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 74]/ (__nfs4_call, __nfs4_call);

	probe op__removexattr__start(struct svc_rqst *c, struct svc_rqst *o) : (conninfo_t *c, nfsv4opinfo_t *o)
		= rawtp:nfsd::nfsd_compound /__nfs4_begins[args[0], 75]/ (args[0], args[0]),
		  rawtp:nfsd::nfsd_compound_status /__nfs4_goes_on[args[0], args[1], args[2], 75]/ (__nfs4_call, __nfs4_call);
};

#pragma D attributes Evolving/Evolving/ISA provider nfsv4 provider
#pragma D attributes Private/Private/Unknown provider nfsv4 module
#pragma D attributes Private/Private/Unknown provider nfsv4 function
#pragma D attributes Evolving/Evolving/ISA provider nfsv4 name
#pragma D attributes Evolving/Evolving/ISA provider nfsv4 args
