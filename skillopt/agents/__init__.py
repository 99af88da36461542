"""How a target solves a task: a chat, a loop with tools, or an agent CLI in a workspace of its own."""
