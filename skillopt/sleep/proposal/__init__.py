"""What a night proposes: rules as records, the block of a document that holds them, targets, the content screen."""
