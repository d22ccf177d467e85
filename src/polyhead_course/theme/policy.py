"""The Content-Security-Policy: a page loads only files of its own site."""

from __future__ import annotations

import base64
import hashlib


def content_policy(script: str) -> str:
    """Return the policy of a page that has one script in its text.

    The search is WebAssembly; figures have style attributes; icons are part of the style sheet.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = {
        "default-src": "'none'",
        "script-src": f"'self' 'sha256-{digest}' 'wasm-unsafe-eval'",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data:",
        "font-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{kind} {sources}" for kind, sources in allowed.items())
