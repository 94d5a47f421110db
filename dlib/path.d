/* SPDX-License-Identifier: MIT */
/* Paths of directory entries: d_path() wants a struct path, which is made here from its two parts. */

inline string __entry_path[struct dentry *D, struct vfsmount *M] =
	(this->__path = (struct path *)alloca(sizeof(struct path)),
	 this->__path->dentry = D,
	 this->__path->mnt = M,
	 d_path(this->__path));

/* Where a struct vfsmount is mounted. It lies in a struct mount. */
inline string __mount_path[struct vfsmount *M] =
	(this->__mount = (struct mount *)((uintptr_t)M - offsetof(struct mount, mnt)),
	 __entry_path[this->__mount->mnt_mountpoint, &this->__mount->mnt_parent->mnt]);
