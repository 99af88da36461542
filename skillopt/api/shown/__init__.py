"""What a run came to, and how it shows itself: results, tables, notebooks, generated reference pages."""
