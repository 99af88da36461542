"""Work that needs a processor, memory or a program, and where it is done: one small protocol, several implementations.

A unit of work is a value (`Work`: a name, JSON, files by digest) handed to an `Executor`; what comes back is JSON or a
typed error. `InlineExecutor` runs in this process (tests, debuggers), `LocalExecutor` in worker processes of this
machine (the default). Decisions, model calls, journal, limits and budget never pass through here.
"""
