BEGIN { denormalize(@nothing); }
