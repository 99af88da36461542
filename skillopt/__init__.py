"""SkillOpt: train an agent's skill document; the model's weights are never touched."""

__version__ = "0.3.0.dev0"
