"""What an embedded engine is started with. Imports nothing heavy: a command line shows its defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EngineSettings:
    """What the engine is started with. Equal settings share an engine."""

    threads: int = 0
    """Worker threads; 0 takes the physical cores this process may use."""
    n_ctx: int = 8192
    """Tokens of context for each request (prompt and answer)."""
    n_parallel: int = 1
    """Requests served at the same time. More than one makes answers depend on each other's timing (batches round
    differently) and, on a CPU, brings no speed: for servers to other programs only."""
    gpu_layers: int = 0
    """Layers given to a GPU; 0 keeps answers equal across machines with and without one."""
    port: int = 0
    """0 takes a free one."""
    private: bool = True
    """Ask for a key that only the owner knows, and keep prefix states for it."""
