"""SkillOpt-Sleep, the nightly companion: learns from a person's sessions with a coding agent, and proves it first.

Nothing here writes outside its own directories but `adopt` and `revert`. Standard library, `core`, `gate`, `store`,
`records` and `harnesses` only, so that it starts at once inside somebody's agent and ships as one zipapp.
"""
