/* @@kind: string */ syscall:::entry / execname == "x" / { @[probefunc] = count() }
END
