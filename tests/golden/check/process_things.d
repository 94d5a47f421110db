/* The process: files, paths, arguments, registers; print(), printm() (d-language.md 4.2, 5.2, 5.4) */
struct inner { char c; };
struct s { int a : 3; char text[8]; struct inner in[2]; void *p; int (*f)(int); enum { LOW, HIGH = 5 } e; union { long l; double d; }; };
struct s v;
BEGIN
{
	trace(cwd); trace(root); trace(execargs); trace(uregs[14]); trace(uregs[arg0]);
	trace((uintptr_t)getf(1)); trace(d_path((void *)arg0)); trace(link_ntop(1, (void *)arg0));
	printm(16, memref((void *)arg0, arg1));
	print(v); print(&v.in); print((struct s *)arg0); print(v.a); print("text"); print(execname); print(arg0);
}
