"""What providers share at the wire: the shapes of question and answer, how a reply ended, where a key may go."""
