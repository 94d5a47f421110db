/* SPDX-License-Identifier: MIT */
/*
 * Calls of the NFS server: what their arguments and results are for scripts. nfs_args.d makes these structures from those
 * of the kernel's module nfsd. A member is missing where the kernel keeps nothing of it: handles of files are told by paths.
 */
#pragma D depends_on library net.d

/* ---- version 3: names are those of RFC 1813 ---- */

typedef uint32_t nfsstat3; /* 0, or what has gone wrong: 2 no such file, 13 not allowed, 70 the handle is old, ... */

typedef struct nfsv3opinfo {
	uint32_t noi_xid;            /* of the call; the answer has the same */
	struct svc_cred *noi_cred;   /* whom the client has named: cr_uid.val, cr_gid.val */
	string noi_curpath;          /* file or folder that the call is about, or "<unknown>" */
} nfsv3opinfo_t;

typedef struct diropargs3 {
	string name;
} diropargs3;
typedef struct createhow3 {
	int mode;                    /* 0: unchecked, 1: guarded, 2: exclusive */
} createhow3;
typedef struct symlinkdata3 {
	string symlink_data;
} symlinkdata3;
typedef struct mknoddata3 {
	int type;                    /* 3 block device, 4 character device, 6 socket, 7 FIFO */
} mknoddata3;
typedef struct __nfs_data {
	uint32_t data_len;
} __nfs_data;

typedef struct LOOKUP3args { diropargs3 what; } LOOKUP3args;
typedef struct ACCESS3args { uint32_t access; } ACCESS3args;
typedef struct READ3args { uint64_t offset; uint32_t count; } READ3args;
typedef struct WRITE3args { uint64_t offset; uint32_t count; int stable; __nfs_data data; } WRITE3args;
typedef struct CREATE3args { diropargs3 where; createhow3 how; } CREATE3args;
typedef struct MKDIR3args { diropargs3 where; } MKDIR3args;
typedef struct SYMLINK3args { diropargs3 where; symlinkdata3 symlink; } SYMLINK3args;
typedef struct MKNOD3args { diropargs3 where; mknoddata3 what; } MKNOD3args;
typedef struct REMOVE3args { diropargs3 object; } REMOVE3args;
typedef struct RMDIR3args { diropargs3 object; } RMDIR3args;
typedef struct RENAME3args { diropargs3 from; diropargs3 to; } RENAME3args;
typedef struct LINK3args { diropargs3 link; } LINK3args;
typedef struct READDIR3args { uint64_t cookie; uint32_t count; } READDIR3args;
typedef struct READDIRPLUS3args { uint64_t cookie; uint32_t maxcount; } READDIRPLUS3args;
typedef struct COMMIT3args { uint64_t offset; uint32_t count; } COMMIT3args;

typedef struct __nfs3_res { nfsstat3 status; } __nfs3_res;
typedef __nfs3_res GETATTR3res;
typedef __nfs3_res SETATTR3res;
typedef __nfs3_res LOOKUP3res;
typedef __nfs3_res READLINK3res;
typedef __nfs3_res CREATE3res;
typedef __nfs3_res MKDIR3res;
typedef __nfs3_res SYMLINK3res;
typedef __nfs3_res MKNOD3res;
typedef __nfs3_res REMOVE3res;
typedef __nfs3_res RMDIR3res;
typedef __nfs3_res RENAME3res;
typedef __nfs3_res LINK3res;
typedef __nfs3_res READDIR3res;
typedef __nfs3_res READDIRPLUS3res;
typedef __nfs3_res FSSTAT3res;
typedef __nfs3_res FSINFO3res;
typedef __nfs3_res PATHCONF3res;
typedef __nfs3_res COMMIT3res;

typedef struct ACCESS3resok { uint32_t access; } ACCESS3resok;
typedef struct ACCESS3res_u { ACCESS3resok ok; } ACCESS3res_u;
typedef struct ACCESS3res { nfsstat3 status; ACCESS3res_u res_u; } ACCESS3res;
typedef struct READ3resok { uint32_t count; int eof; __nfs_data data; } READ3resok;
typedef struct READ3res_u { READ3resok ok; } READ3res_u;
typedef struct READ3res { nfsstat3 status; READ3res_u res_u; } READ3res;
typedef struct WRITE3resok { uint32_t count; int committed; } WRITE3resok;
typedef struct WRITE3res_u { WRITE3resok ok; } WRITE3res_u;
typedef struct WRITE3res { nfsstat3 status; WRITE3res_u res_u; } WRITE3res;

/* ---- version 4: names are those of RFC 7530 ---- */

typedef uint32_t nfsstat4;

typedef struct nfsv4opinfo {
	uint32_t noi_xid;
	struct svc_cred *noi_cred;
	string noi_curpath;          /* the current file: before the operation at its start, after it when it is done */
} nfsv4opinfo_t;

typedef struct COMPOUND4args { string tag; uint32_t minorversion; uint32_t argarray_len; } COMPOUND4args;
typedef struct COMPOUND4res { nfsstat4 status; string tag; uint32_t resarray_len; } COMPOUND4res;

typedef struct ACCESS4args { uint32_t access; } ACCESS4args;
typedef struct CLOSE4args { uint32_t seqid; } CLOSE4args;
typedef struct COMMIT4args { uint64_t offset; uint32_t count; } COMMIT4args;
typedef struct CREATE4args { uint32_t type; string objname; } CREATE4args;
typedef struct LINK4args { string newname; } LINK4args;
typedef struct LOCK4args { uint32_t locktype; int reclaim; uint64_t offset; uint64_t length; } LOCK4args;
typedef struct LOCKT4args { uint32_t locktype; uint64_t offset; uint64_t length; } LOCKT4args;
typedef struct LOCKU4args { uint32_t locktype; uint32_t seqid; uint64_t offset; uint64_t length; } LOCKU4args;
typedef struct LOOKUP4args { string objname; } LOOKUP4args;
typedef struct OPEN4args {
	uint32_t seqid;
	uint32_t share_access;
	uint32_t share_deny;
	int opentype;                /* 1: the file is made */
	int claim;                   /* 0: by name, in the current folder */
	string file;
} OPEN4args;
typedef struct OPEN_DOWNGRADE4args { uint32_t seqid; uint32_t share_access; uint32_t share_deny; } OPEN_DOWNGRADE4args;
typedef struct READ4args { uint64_t offset; uint32_t count; } READ4args;
typedef struct READDIR4args { uint64_t cookie; uint32_t dircount; uint32_t maxcount; } READDIR4args;
typedef struct REMOVE4args { string target; } REMOVE4args;
typedef struct RENAME4args { string oldname; string newname; } RENAME4args;
typedef struct SECINFO4args { string name; } SECINFO4args;
typedef struct WRITE4args { uint64_t offset; int stable; uint32_t data_len; } WRITE4args;

typedef struct __nfs4_res { nfsstat4 status; } __nfs4_res;
typedef __nfs4_res CLOSE4res;
typedef __nfs4_res COMMIT4res;
typedef __nfs4_res CREATE4res;
typedef __nfs4_res DELEGPURGE4res;
typedef __nfs4_res DELEGRETURN4res;
typedef __nfs4_res GETATTR4res;
typedef __nfs4_res GETFH4res;
typedef __nfs4_res LINK4res;
typedef __nfs4_res LOCK4res;
typedef __nfs4_res LOCKT4res;
typedef __nfs4_res LOCKU4res;
typedef __nfs4_res LOOKUP4res;
typedef __nfs4_res LOOKUPP4res;
typedef __nfs4_res NVERIFY4res;
typedef __nfs4_res OPEN4res;
typedef __nfs4_res OPENATTR4res;
typedef __nfs4_res OPEN_CONFIRM4res;
typedef __nfs4_res OPEN_DOWNGRADE4res;
typedef __nfs4_res PUTFH4res;
typedef __nfs4_res PUTPUBFH4res;
typedef __nfs4_res PUTROOTFH4res;
typedef __nfs4_res READDIR4res;
typedef __nfs4_res READLINK4res;
typedef __nfs4_res REMOVE4res;
typedef __nfs4_res RENAME4res;
typedef __nfs4_res RENEW4res;
typedef __nfs4_res RESTOREFH4res;
typedef __nfs4_res SAVEFH4res;
typedef __nfs4_res SECINFO4res;
typedef __nfs4_res SETATTR4res;
typedef __nfs4_res SETCLIENTID4res;
typedef __nfs4_res SETCLIENTID_CONFIRM4res;
typedef __nfs4_res VERIFY4res;
typedef __nfs4_res RELEASE_LOCKOWNER4res;
typedef __nfs4_res BACKCHANNEL_CTL4res;
typedef __nfs4_res BIND_CONN_TO_SESSION4res;
typedef __nfs4_res EXCHANGE_ID4res;
typedef __nfs4_res CREATE_SESSION4res;
typedef __nfs4_res DESTROY_SESSION4res;
typedef __nfs4_res FREE_STATEID4res;
typedef __nfs4_res GET_DIR_DELEGATION4res;
typedef __nfs4_res GETDEVICEINFO4res;
typedef __nfs4_res GETDEVICELIST4res;
typedef __nfs4_res LAYOUTCOMMIT4res;
typedef __nfs4_res LAYOUTGET4res;
typedef __nfs4_res LAYOUTRETURN4res;
typedef __nfs4_res SECINFO_NO_NAME4res;
typedef __nfs4_res SEQUENCE4res;
typedef __nfs4_res SET_SSV4res;
typedef __nfs4_res TEST_STATEID4res;
typedef __nfs4_res WANT_DELEGATION4res;
typedef __nfs4_res DESTROY_CLIENTID4res;
typedef __nfs4_res RECLAIM_COMPLETE4res;
typedef __nfs4_res ALLOCATE4res;
typedef __nfs4_res COPY4res;
typedef __nfs4_res COPY_NOTIFY4res;
typedef __nfs4_res DEALLOCATE4res;
typedef __nfs4_res IO_ADVISE4res;
typedef __nfs4_res LAYOUTERROR4res;
typedef __nfs4_res LAYOUTSTATS4res;
typedef __nfs4_res OFFLOAD_CANCEL4res;
typedef __nfs4_res OFFLOAD_STATUS4res;
typedef __nfs4_res READ_PLUS4res;
typedef __nfs4_res SEEK4res;
typedef __nfs4_res WRITE_SAME4res;
typedef __nfs4_res CLONE4res;
typedef __nfs4_res GETXATTR4res;
typedef __nfs4_res SETXATTR4res;
typedef __nfs4_res LISTXATTRS4res;
typedef __nfs4_res REMOVEXATTR4res;
typedef struct ACCESS4res { nfsstat4 status; uint32_t supported; uint32_t access; } ACCESS4res;
typedef struct READ4res { nfsstat4 status; int eof; uint32_t data_len; } READ4res;
typedef struct WRITE4res { nfsstat4 status; uint32_t count; int committed; } WRITE4res;
