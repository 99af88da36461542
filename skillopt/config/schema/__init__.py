"""The sections of a configuration, one file each."""
