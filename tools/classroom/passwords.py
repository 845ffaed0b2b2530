"""Passwords of the native authenticator, in the hub's own database."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import bcrypt
from jupyterhub import orm
from nativeauthenticator.orm import UserInfo
from sqlalchemy.orm import Session

from tools.classroom.settings import Settings


@contextlib.contextmanager
def database(settings: Settings) -> Iterator[Session]:
    """The hub's database, made if the hub has never been started; the hub may be running."""
    session = orm.new_session_factory(settings.database)()
    try:
        yield session
        session.commit()
    finally:
        session.close()
        session.get_bind().dispose()


def set_password(settings: Settings, username: str, password: str) -> None:
    """Let somebody in with a password."""
    digest = bcrypt.hashpw(password.encode(), bcrypt.gensalt())
    with database(settings) as session:
        info = UserInfo.find(session, username)
        if info is None:
            info = UserInfo(username=username, password=digest)
            session.add(info)
        info.password, info.is_authorized = digest, True


def forget(settings: Settings, username: str) -> None:
    """Take away somebody's password, and every login that is open."""
    with database(settings) as session:
        info = UserInfo.find(session, username)
        if info is not None:
            session.delete(info)
        user = orm.User.find(session, username)
        if user is not None:
            for token in user.api_tokens:
                session.delete(token)
            user.cookie_id = orm.new_token()
