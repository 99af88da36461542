"""One module a command, each with `flags(parser)` and `async run(call) -> int`; loaded only when asked for."""
