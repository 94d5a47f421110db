/* Block transfers, made here as the kernel would: bufinfo_t, devinfo_t (d-language.md 10.7; providers.md 2.4, 2.5). */
#pragma D option quiet

BEGIN
{
	this->dev = (struct block_device *)alloca(sizeof(struct block_device));
	this->disk = (struct gendisk *)alloca(sizeof(struct gendisk));
	bcopy("nvme0n1", this->disk->disk_name, 8);
	this->part = __either(this->dev->bd_partno = 0, this->dev->__bd_flags.counter = 0);
	this->dev->bd_disk = this->disk;
	this->disk->part0 = this->dev;
	this->dev->bd_dev = 259 << 20 | 3;
	this->d = xlate<devinfo_t *>(this->dev);
	printf("%d %d %d %s %s %s\n", this->d->dev_major, this->d->dev_minor, this->d->dev_instance, this->d->dev_name,
	    this->d->dev_statname, this->d->dev_pathname);
	this->disk->part0 = NULL;
	this->part = __either(this->dev->bd_partno = 2, this->dev->__bd_flags.counter = 2);
	printf("%s %s %s %d\n", this->d->dev_statname, this->d->dev_pathname, this->d->device_name, this->d->unit_number);
	this->bio = (struct bio *)alloca(sizeof(struct bio));
	this->bio->bi_bdev = this->dev;
	this->bio->bi_opf = REQ_OP_WRITE;
	this->bio->bi_iter.bi_sector = 2048;
	this->bio->bi_iter.bi_size = 8192;
	this->b = xlate<bufinfo_t *>(this->bio);
	printf("%x %d %d %d %d %d %d %d %x\n", this->b->b_flags, this->b->b_bcount, (int)this->b->b_addr, this->b->b_blkno,
	    this->b->b_lblkno, this->b->b_resid, this->b->b_bufsize, this->b->b_error, this->b->b_edev);
	this->bio->bi_opf = REQ_OP_READ;
	this->bio->bi_status = 3;
	printf("%d %d %d\n", this->b->b_flags == (B_READ | B_PHYS | B_ERROR), this->b->b_error == ENOSPC,
	    xlate<devinfo_t *>(this->bio)->dev_minor);
	printf("%s %s %d\n", xlate<fileinfo_t *>(this->bio)->fi_pathname, xlate<fileinfo_t *>(this->bio)->fi_fs,
	    xlate<fileinfo_t *>(this->bio)->fi_oflags);
	this->r = (struct request *)alloca(sizeof(struct request));
	this->r->bio = this->bio;
	this->r->cmd_flags = REQ_OP_WRITE | 1 << __REQ_SYNC;
	this->r->__data_len = 512;
	this->r->__sector = 99;
	printf("%d %d %d %s\n", xlate<bufinfo_t *>(this->r)->b_flags == (B_WRITE | B_PHYS), xlate<bufinfo_t *>(this->r)->b_bcount,
	    xlate<bufinfo_t *>(this->r)->b_blkno, xlate<devinfo_t *>(this->r)->dev_statname);
	/* Of the file that a mapped page belongs to: a folder, which has one name, while any file may have hard links. */
	this->path = &curthread->fs->pwd;
	this->inode = this->path->dentry->d_inode;
	this->page = (struct page *)alloca(sizeof(struct page));
	this->vec = (struct bio_vec *)alloca(sizeof(struct bio_vec));
	this->page->mapping = this->inode->i_mapping;
	this->vec->bv_page = this->page;
	this->bio->bi_io_vec = this->vec;
	this->f = xlate<fileinfo_t *>(this->bio);
	printf("%d %d %d %d\n", this->f->fi_name == basename(cwd), this->f->fi_pathname == d_path(this->path),
	    this->f->fi_fs == stringof(this->inode->i_sb->s_type->name),
	    xlate<bufinfo_t *>(this->bio)->b_flags == (B_READ | B_PAGEIO | B_ERROR));
	exit(0);
}
