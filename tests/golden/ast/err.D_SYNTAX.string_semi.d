/* @@kind: string */ BEGIN;
