"""The companion's settings: every key with its default (`schema`), how a value is checked (`values`), and where it came
from (`reading`)."""
