"""A scripted model, a toy task and local servers: whole runs without a key or a network, for anybody's tests."""
