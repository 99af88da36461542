"""How good a reply is: literal checks, a rubric's judge, a reference; and a replay that makes the reply."""
