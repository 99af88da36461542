"""Who answers: agent CLIs, a chat endpoint, a person's own agent by files, and a rule table for demos and tests."""
