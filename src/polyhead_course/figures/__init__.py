"""The figures of the chapters: `plots` draws them, `live` makes some of them explorable on the website."""
