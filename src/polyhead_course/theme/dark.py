"""The colours of a figure on a dark page: light cells become dark, and the words on them light."""

from functools import lru_cache

import numpy as np

# Lines, bars and masks have these, which are seen on light and on dark pages.
_BOTH = {"#3182bd", "#e6730b", "#7f7f7f"}
# Oklab, in which the same lightness looks equally light in each hue: https://bottosson.github.io/posts/oklab/
_CONES = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
_OKLAB = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])
_GAMMA = 2.2
_DARKEST = 0.2  # the lightness of the dark page


@lru_cache(maxsize=4096)
def on_dark(color: str) -> str:
    """Return a colour of six digits with its lightness reversed, its hue kept: white becomes the dark page.

    >>> on_dark("#c6dbef"), on_dark("#08306b"), on_dark("#3182bd")
    ('#2c3b49', '#a1d2ff', '#3182bd')
    """
    if color in _BOTH:
        return color
    light = (np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255) ** _GAMMA
    lab = _OKLAB @ np.cbrt(_CONES @ light)
    lab[0] = 1 - (1 - _DARKEST) * lab[0] ** 1.5  # above one, so that mid-tones are lighter than in the light
    light = np.linalg.inv(_CONES) @ np.linalg.inv(_OKLAB).dot(lab) ** 3
    return "#" + "".join(f"{round(255 * part):02x}" for part in light.clip(0, 1) ** (1 / _GAMMA))
