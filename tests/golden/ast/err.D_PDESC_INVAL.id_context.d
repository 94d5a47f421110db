/* @@kind: provider */ 12 { }
