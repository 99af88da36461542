"""Edits to a skill: what one is (`edit`), how it is applied (`editor`), where a line came from (`origins`), what
changed between two texts (`change`), and the parts that carry a marker (`regions`)."""
