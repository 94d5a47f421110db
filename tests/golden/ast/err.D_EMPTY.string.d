/* @@kind: string */
