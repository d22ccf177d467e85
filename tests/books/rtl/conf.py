"""A book with Sphinx alone: English, Hebrew with one page, Arabic with none; their folders at the top."""

project = "Gardens"
author = "Nobody"
extensions = ["sphinx_polyglot"]
root_doc = "index"
exclude_patterns = ["_build"]
numfig = True
nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath"]
polyglot_folder = "."
polyglot_languages = {
    "en": {"locale": "en", "name": "English", "title": "Gardens"},
    "he": {"locale": "he", "name": "עברית", "title": "גנים"},
    "ar": {"locale": "ar", "name": "العربية", "title": "حدائق"},
}
