"""Passwords by the native authenticator, and the log-in page by JupyterHub itself.

NativeAuthenticator 1.3.0 counts log-ins by a part of JupyterHub (statsd) that version 6 no longer has, so its own
page stops with an error. JupyterHub's page asks for the same two things. Nobody signs up here, so of its other
pages only the one is left on which people change their own password.
"""

from __future__ import annotations

from typing import Any

from nativeauthenticator import NativeAuthenticator
from nativeauthenticator.orm import UserInfo

OWN_PASSWORD = "/change-password"


class Login(NativeAuthenticator):
    """Lets in whoever has a password in the hub's database."""

    def get_handlers(self, app: Any) -> list[tuple[str, type]]:
        """The pages that are added to the hub's own."""
        own = [entry for entry in super().get_handlers(app) if entry[0] == OWN_PASSWORD]
        return [*super(NativeAuthenticator, self).get_handlers(app), *own]

    def get_user(self, username: str) -> UserInfo | None:
        """What the database holds by now: `python -m tools.classroom` writes there, too."""
        found = super().get_user(username)
        if found is not None:
            self.db.refresh(found)
        return found
