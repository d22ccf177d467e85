"""The output of every interactive figure: a picture, and the tensors that its script reads."""

import functools
from importlib import resources
from typing import Any

import yaml

from polyhead_course.figures.plots import Drawing
from polyhead_course.words.language import text

MIME = "application/vnd.polyhead.live+json"


class Explorable(Drawing):
    """A figure of `plots`, and the data of an interactive one, in one output of a notebook.

    A notebook and paper show the figure. The site gives the data to the template `<kind>.html` and to the
    module `<kind>.js` of this folder; `labels.yml` lists the words of `terms.yml` that both write.

    Attributes:
        data: The kind, the tensors and the labels, as JSON.

    >>> import torch
    >>> from polyhead_course.figures import plots
    >>> X = torch.tensor([[[111.0, 112.0, 121.0, 122.0]]])
    >>> labels = Explorable("path", plots.transpose_path(X, 2), X=X.tolist()).data["labels"]
    >>> labels["live.reset"], labels["live.path"], labels["stage.split"]
    ('Reset', 'Interactive figure: the path of one number', 'split')
    """

    def __init__(self, kind: str, figure: Drawing, **tensors: Any) -> None:
        """Combine a figure with its data.

        Args:
            kind: The name of the template and the module.
            figure: The picture.
            tensors: What the template and the module read: values of JSON.
        """
        self.svg = figure.svg
        words = {key: text(key) for key in ("live.reset", f"live.{kind}", *_labels()[kind])}
        self.data = {"kind": kind, **tensors, "labels": words}

    def __repr__(self) -> str:
        """Name the kind; the text is the same on every machine, since notebooks store it."""
        return f"<polyhead_course.figures.live.{self.data['kind']}>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"image/svg+xml": self.svg, MIME: self.data}


@functools.cache
def _labels() -> dict[str, list[str]]:
    """The keys of each figure's words in `terms.yml`."""
    labels: dict[str, list[str]] = yaml.safe_load(
        resources.files(__package__).joinpath("labels.yml").read_bytes()
    )
    return labels


def with_bugs(kind: str, *bugs: str) -> list[dict[str, str]]:
    """What the bug switch of a figure says: none, and each of these bugs of the clinic.

    >>> [each["name"] for each in with_bugs("path", "view", "view_back")]
    ['none', 'view, no transpose', 'joined by view alone']
    """
    said = [text("live.no_bug"), *(text(f"ill.{kind}.{bug}") for bug in bugs)]
    names = [text("live.norm_none"), *(text(f"bug.{bug}") for bug in bugs)]
    return [{"name": name, "said": each} for name, each in zip(names, said, strict=True)]
