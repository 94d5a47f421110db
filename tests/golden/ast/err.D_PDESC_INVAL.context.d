/* @@kind: module */ a:b:c { }
