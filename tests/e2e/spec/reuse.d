/* One id, given out 100,000 times between two looks at the buffers: it took minutes to read them. */
/* @@runtest-opts: -q -x nspec=1 -x switchrate=10s */
/* @@trigger: calls getppid 100000 */
/* @@timeout: 40 */
int n;
syscall::getppid:entry /pid == $target/ { this->id = speculation(); n += this->id != 0; }
syscall::getppid:entry /pid == $target/ { commit(this->id); }
END { printf("%d\n", n); }
