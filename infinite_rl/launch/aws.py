"""Calls of AWS by boto3, with each error mapped to one clear line.

boto3 finds the credentials, the profile and the endpoints (`AWS_ENDPOINT_URL`), and retries what is
throttled or fails for a moment.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import InfiniteRLError, LaunchError, UsageError
from ..redact import one_line
from ..storage.aws_setup import RENEW, new_boto3_session, setup_problem
from .config import SageMakerConfig
from .permissions import explain

_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired")
_UNKNOWN_KEYS = (
    *("InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch"),
    *("InvalidAccessKeyId", "AuthFailure", "InvalidSignatureException", "IncompleteSignature"),
)
_DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "403")
THROTTLED = (
    *("Throttling", "ThrottlingException", "ThrottledException", "TooManyRequestsException"),
    *("RequestLimitExceeded", "SlowDown", "LimitExceededException"),
)


class Refused(LaunchError):
    """AWS answered with an error; `code` is AWS's name for it."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class Unanswered(LaunchError):
    """No answer came: AWS may or may not have done what was asked."""


class Aws:
    """The services of AWS for one config; each client is created on its first call."""

    def __init__(self, config: SageMakerConfig) -> None:
        self.config = config
        self._clients: dict[str, Any] = {}

    def call(self, service: str, method: str, **args: Any) -> Any:
        """Call a service, and return its answer.

        Raises:
            UsageError: credentials are missing or expired, or a permission is missing.
            Refused: AWS answered with another error.
            Unanswered: no answer came.
        """
        with self.errors_of(service):
            return getattr(self._client(service), method)(**args)

    def pages(self, service: str, method: str, key: str, **args: Any) -> Iterator[Any]:
        """Yield what a service lists under `key`, page by page; raises as `call` does."""
        with self.errors_of(service):
            for page in self._client(service).get_paginator(method).paginate(**args):
                yield from page.get(key, ())

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            session = new_boto3_session("jobs on AWS need")
            from botocore.config import Config

            options = Config(retries={"mode": "standard"}, connect_timeout=10, read_timeout=60)
            region = self.config.region or None
            self._clients[service] = session.client(service, region_name=region, config=options)
        return self._clients[service]

    @contextmanager
    def errors_of(self, service: str) -> Iterator[None]:
        """Map what boto3 raises to an error that says what to do."""
        try:
            yield
        except InfiniteRLError:
            raise
        except Exception as error:  # boto3's classes cannot be named if it is not installed
            from botocore.exceptions import BotoCoreError, ClientError

            if isinstance(error, ClientError):
                raise self._refusal(service, error) from None
            if problem := setup_problem(error):
                raise UsageError(problem) from None
            if isinstance(error, BotoCoreError):
                raise Unanswered(f"AWS {service} did not answer: {_line(error)}") from None
            raise

    def _refusal(self, service: str, error: Any) -> Exception:
        details = error.response.get("Error", {})
        code, message = str(details.get("Code", "")), str(details.get("Message", ""))
        if code in _EXPIRED or "token included in the request is expired" in message:
            return UsageError(f"the AWS credentials have expired: {RENEW}")
        if code in _UNKNOWN_KEYS:
            return UsageError(f"AWS does not know these credentials ({code}): {RENEW}")
        if code in _DENIED:
            return UsageError(explain(service, error.operation_name, message, self.config))
        if code == "NoSuchBucket":
            name = self.config.bucket
            return UsageError(f"there is no bucket {name}: create it, or choose another")
        text = f"AWS refused {error.operation_name} ({code}): {_line(message)}"
        if code in THROTTLED:
            remedy = "wait a minute and run this again"
            text = f"AWS {service} is throttling ({_line(message)}): {remedy}"
        elif code in ("ResourceLimitExceeded", "ServiceQuotaExceededException"):
            remedy = "raise it under Service Quotas, or choose another --instance_type"
            text = f"a quota of the account is too small: {_line(message)}; {remedy}"
        return Refused(text, code)


def region() -> str:
    """The region of the AWS profile, "" if it has none. Raises as `Aws.call`."""
    with Aws(SageMakerConfig()).errors_of("configuration"):
        return str(new_boto3_session("jobs on AWS need").region_name or "")


def account(config: SageMakerConfig) -> str:
    """The account of the credentials. Raises as `Aws.call`."""
    return str(Aws(config).call("sts", "get_caller_identity")["Account"])


def _line(value: object) -> str:
    return one_line(str(value), 600)
