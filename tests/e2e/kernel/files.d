/* @@runtest-opts: -q */
/* @@trigger: calls write 2 */
syscall::write:entry
/pid == $target/
{
	this->f = curthread->files->fdt->fd[arg0];
	printf("%s %s %s\n", stringof(this->f->f_path.dentry->d_name.name),
	    stringof(((struct file *)(uintptr_t)this->f)->f_inode->i_sb->s_type->name),
	    stringof(this->f->f_path.dentry->d_parent->d_name.name));
}
