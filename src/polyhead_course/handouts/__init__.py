"""Makes files to take away: `decks` slides of a built chapter, `archives` its figures, `copies` notebooks."""
