"""The settings of a classroom: one file, whose every key has a usual value."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

ROOT = Path(__file__).resolve().parents[2]
USUAL = ROOT / "classroom.toml"
COURSE_ID = "attention"
VARIABLE = "CLASSROOM_SETTINGS"  # tells the hub's configuration which file it is

Port = Annotated[int, Meta(ge=1, le=65535)]


class ClassroomError(Exception):
    """The classroom cannot be as it is asked for; the message says why and what to do."""


class Platform(Struct, frozen=True, forbid_unknown_fields=True):
    """What LTI 1.3 needs to know of a learning platform."""

    issuer: str
    client_id: list[str]
    authorize_url: str
    jwks_endpoint: str
    username_key: str = "email"


class Ports(Struct, frozen=True, forbid_unknown_fields=True):
    """Ports on this machine alone, over which the parts of the hub speak."""

    hub: Port = 8081
    proxy: Port = 8001
    course: Port = 8082


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """See ``settings.toml``, which says what each key means.

    ``environment`` is the virtual environment of all servers; it is made where it is not there.
    """

    folder: str = "/srv/classroom"
    account: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]{0,30}$")] = "attention"
    homes: str = "/home"
    address: str = "127.0.0.1"
    port: Port = 8000
    certificate: str = ""
    key: str = ""
    domain: str = ""
    subdomains: bool = True
    behind_proxy: bool = False
    self_check: bool = False
    only: str = ""
    login: Literal["native", "lti13"] = "native"
    lti13: Platform | None = None
    environment: str = ""
    ports: Ports = Ports()

    @property
    def place(self) -> Path:
        return Path(self.folder)

    @property
    def course(self) -> Path:
        """The course folder, which belongs to the course's account alone."""
        return self.place / "course"

    @property
    def handout(self) -> Path:
        """What students get, readable for all."""
        return self.place / "handout"

    @property
    def exchange(self) -> Path:
        return self.place / "exchange"

    @property
    def state(self) -> Path:
        """What the hub remembers; root's alone."""
        return self.place / "state"

    @property
    def python(self) -> Path:
        return Path(self.environment or self.place / "environment") / "bin" / "python"

    @property
    def proxy(self) -> Path:
        """Where npm puts the proxy."""
        return self.place / "proxy"

    @property
    def proxy_pid(self) -> Path:
        """Where the hub notes which process its proxy is."""
        return self.state / "proxy.pid"

    @property
    def public(self) -> str:
        """Where browsers find the hub."""
        if self.behind_proxy:
            return f"https://{self.domain}"
        scheme, usual = ("https", 443) if self.certificate else ("http", 80)
        name = self.domain or self.address
        return f"{scheme}://{name}" if self.port == usual else f"{scheme}://{name}:{self.port}"

    @property
    def formgrader(self) -> str:
        """Where browsers find the class; under a name of its own where students' servers have theirs."""
        path = "/services/course/formgrader"
        if not (self.domain and self.subdomains):
            return path
        return self.public.replace("://", "://course--service.", 1) + path

    @property
    def database(self) -> str:
        return f"sqlite:///{self.state / 'jupyterhub.sqlite'}"

    @property
    def people(self) -> Path:
        """Who has which role."""
        return self.state / "people.csv"


def read(path: Path | None = None) -> Settings:
    """The settings of a file; the usual ones where there is no file and none is named.

    Raises:
        ClassroomError: the file says something that cannot be.
    """
    named = path or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    file = named or USUAL
    if not named and not file.exists():
        return Settings()
    try:
        settings = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Settings)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ClassroomError(f"the settings {file} cannot be read: {error}") from None
    except msgspec.ValidationError as error:
        raise ClassroomError(
            f"{file}: {str(error)[:1].lower()}{str(error)[1:]}. tools/classroom/settings.toml says what "
            "each key means"
        ) from None
    refuse_contradictions(settings, file)
    return settings


def refuse_contradictions(settings: Settings, file: Path) -> None:
    """Say what cannot be together.

    Raises:
        ClassroomError: something contradicts something else.
    """
    if bool(settings.certificate) != bool(settings.key):
        raise ClassroomError(f"{file}: certificate and key go together: give both, or neither")
    for name in (settings.certificate, settings.key):
        if name and not Path(name).is_file():
            raise ClassroomError(f"{file}: there is no file {name}")
    here = settings.address in ("127.0.0.1", "::1", "localhost")
    if not (settings.certificate or settings.behind_proxy or here):
        raise ClassroomError(
            f"{file}: at address {settings.address} passwords would cross the network unencrypted. Give a "
            "certificate and a key, or set behind_proxy = true if another server does that"
        )
    reachable = settings.certificate or settings.behind_proxy
    if reachable and settings.subdomains and not settings.domain:
        raise ClassroomError(
            f"{file}: without a domain, a page of a student's server could do in a browser what an instructor may who "
            "is signed in there. Give the domain, or set subdomains = false after reading docs/classroom.md on it"
        )
    if (settings.login == "lti13") != (settings.lti13 is not None):
        raise ClassroomError(f'{file}: login = "lti13" and a table [lti13] go together')
    for name in (settings.folder, settings.homes):
        if not Path(name).is_absolute():
            raise ClassroomError(f"{file}: expected a path from the root on, found {name!r}")
