"""From a staged night to a live file and back: manifest, adoption, rejection, reversion.

The only room that changes live files, and only on a person's word.
"""
