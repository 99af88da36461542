"""Readers of agents' session files. Each turns one file into digests, and tells what it could not understand.

`claude`, `codex`, `copilot_cli` and `opencode` know one format each; `lines`, `times`, `typed`, `projects` and
`building` are what they share. Nothing here writes, keeps a raw log, or follows a symbolic link.
"""
