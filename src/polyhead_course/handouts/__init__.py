"""Makes files for lectures: `decks` slides of a built chapter, `archives` its figures as SVG and PNG."""
