"""The container's image: its place in ECR, and its build and push by docker or podman.

The registry's password goes to the engine's standard input, never to a command line or a log, and
the engine forgets it after the push.
"""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..errors import LaunchError, UsageError
from ..redact import REDACTED
from .aws import Aws, Refused
from .config import SageMakerConfig
from .request import tags

ENGINES = ("docker", "podman")
DOCKERFILE = "Dockerfile"
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
# What SageMaker's machines run, also where the image is built on another kind.
_PLATFORM = "linux/amd64"


def default_tag() -> str:
    """The tag of this package's version."""
    from .. import __version__

    return re.sub(r"[^\w.-]", "-", str(__version__))


def check_tag(tag: str) -> str:
    """The tag, if an image may have it. Raises UsageError."""
    if not _TAG.fullmatch(tag):
        raise UsageError(f"a tag is up to 128 letters, digits, _, . and -, not {tag!r}")
    return tag


def address(place: SageMakerConfig, tag: str) -> str:
    """The whole address of the image that a job runs."""
    return place.image or f"{place.registry}/{place.repository}:{check_tag(tag)}"


def engine() -> str:
    """The container engine that works here: docker, else podman. Raises UsageError."""
    said = []
    for name in ENGINES:
        if not shutil.which(name):
            said.append(f"{name} is not installed")
        elif subprocess.run([name, "info"], capture_output=True).returncode:
            said.append(f"{name} is installed, but its service does not run")
        else:
            return name
    raise UsageError(
        f"no container engine works here ({'; '.join(said)}): start one, or build and push the "
        "image elsewhere and leave --build and --push out"
    )


def build(name: str, image: str, folder: Path) -> None:
    """Build the folder's Dockerfile.

    Raises:
        UsageError: there is none.
        LaunchError: the build failed; the engine has said why.
    """
    if not (folder / DOCKERFILE).is_file():
        raise UsageError(f"there is no {DOCKERFILE} in {folder.resolve()}")
    _run([name, "build", "--platform", _PLATFORM, "--tag", image, "."], folder)


def push(name: str, image: str, aws: Aws) -> None:
    """Push an image to the place's repository, which is created where it is missing.

    Raises:
        UsageError, LaunchError: AWS or the engine did not do it.
    """
    ensure_repository(aws)
    user, password = _login(aws)
    registry = aws.place.registry
    words = [name, "login", "--username", user, "--password-stdin", registry]
    done = subprocess.run(words, input=password.encode(), capture_output=True)
    if done.returncode:
        said = _last_line(done.stderr.decode(errors="replace").replace(password, REDACTED))
        raise LaunchError(f"{name} could not log in to {registry}: {said}")
    try:
        _run([name, "push", image], Path())
    finally:
        subprocess.run([name, "logout", registry], capture_output=True)


def ensure_repository(aws: Aws) -> bool:
    """Create the place's repository where it is missing; whether it was created."""
    name = aws.place.repository
    try:
        aws.call("ecr", "describe_repositories", repositoryNames=[name])
        return False
    except Refused as error:
        if error.code != "RepositoryNotFoundException":
            raise
    try:
        aws.call(
            "ecr",
            "create_repository",
            repositoryName=name,
            imageScanningConfiguration={"scanOnPush": True},
            tags=[{"Key": key, "Value": value} for key, value in tags(aws.place).items()],
        )
    except Refused as error:
        if error.code != "RepositoryAlreadyExistsException":  # somebody was a moment faster
            raise
    return True


def check_pushed(aws: Aws, tag: str) -> None:
    """Raise UsageError where the place's repository has no image of that tag."""
    name = aws.place.repository
    try:
        aws.call("ecr", "describe_images", repositoryName=name, imageIds=[{"imageTag": tag}])
    except Refused as error:
        if error.code not in ("ImageNotFoundException", "RepositoryNotFoundException"):
            raise
        raise UsageError(
            f"there is no image {aws.place.registry}/{name}:{tag}: build and push it with "
            "--build --push, or name another with --image_tag"
        ) from None


def _login(aws: Aws) -> tuple[str, str]:
    found = aws.call("ecr", "get_authorization_token")["authorizationData"][0]
    user, _, password = base64.b64decode(found["authorizationToken"]).decode().partition(":")
    return user, password


def _run(words: Sequence[str], folder: Path) -> None:
    """Run a program whose output the user sees. Raises LaunchError where it fails."""
    code = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL).returncode
    if code:
        raise LaunchError(f"`{words[0]} {words[1]}` failed with exit code {code}: see above")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it did not say why"
