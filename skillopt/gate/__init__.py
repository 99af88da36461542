"""Floor 4: deciding whether a candidate is kept. Standard library only; no model is called from here."""
