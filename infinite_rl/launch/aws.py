"""Every call of AWS, through boto3, and each of its errors in one clear line.

Calls are made with the credentials, the profile and the endpoints (`AWS_ENDPOINT_URL`) that boto3
finds; it repeats by itself what is throttled or fails in passing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import InfiniteRLError, LaunchError, UsageError
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
_RENEW = "renew them (`aws sso login`, or new keys) and run this again"


class Refused(LaunchError):
    """AWS answered with an error; `code` is its name there."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class Unanswered(LaunchError):
    """No answer came: whether AWS did what it was asked is not known."""


class Aws:
    """AWS for one place, each service's client made when it is first called."""

    def __init__(self, place: SageMakerConfig) -> None:
        self.place = place
        self._clients: dict[str, Any] = {}

    def call(self, service: str, method: str, **values: Any) -> Any:
        """What a service answers.

        Raises:
            UsageError: there are no credentials, they have expired, or a permission is missing.
            Refused: any other error that AWS answers with.
            Unanswered: no answer came.
        """
        with self.told(service):
            return getattr(self.client(service), method)(**values)

    def pages(self, service: str, method: str, key: str, **values: Any) -> Iterator[Any]:
        """What a service lists under `key`, page after page; raises as `call` does."""
        with self.told(service):
            for page in self.client(service).get_paginator(method).paginate(**values):
                yield from page.get(key, ())

    def client(self, service: str) -> Any:
        """boto3's client of a service, the same each time."""
        if service not in self._clients:
            self._clients[service] = _session().client(
                service, region_name=self.place.region or None, config=_config()
            )
        return self._clients[service]

    @contextmanager
    def told(self, service: str) -> Iterator[None]:
        """Turns whatever boto3 raises into an error that says what to do."""
        boto = _exceptions()
        try:
            yield
        except boto.ClientError as error:
            raise self._refused(service, error) from None
        except (boto.NoCredentialsError, boto.PartialCredentialsError) as error:
            raise UsageError(_no_credentials(error)) from None
        except (
            *(boto.SSOTokenLoadError, boto.UnauthorizedSSOTokenError, boto.TokenRetrievalError),
            *(boto.CredentialRetrievalError, boto.SSOError),
        ) as error:
            raise UsageError(f"the AWS credentials cannot be used: {error}; {_RENEW}") from None
        except boto.NoRegionError:
            raise UsageError("AWS needs a region") from None
        except (boto.ProfileNotFound, boto.ConfigParseError, boto.ConfigNotFound) as error:
            raise UsageError(f"the AWS profile cannot be used: {error}") from None
        except boto.ParamValidationError as error:
            raise UsageError(f"AWS would not take this: {_line(error)}") from None
        except (boto.HTTPClientError, boto.BotoCoreError) as error:
            raise Unanswered(f"AWS {service} did not answer: {_line(error)}") from None
        except ValueError as error:  # an endpoint that is no address
            if isinstance(error, InfiniteRLError):
                raise
            raise UsageError(f"AWS {service} cannot be asked: {_line(error)}") from None

    def _refused(self, service: str, error: Any) -> Exception:
        said = error.response.get("Error", {})
        code, message = str(said.get("Code", "")), str(said.get("Message", ""))
        if code in _EXPIRED or "token included in the request is expired" in message:
            return UsageError(f"the AWS credentials have expired: {_RENEW}")
        if code in _UNKNOWN_KEYS:
            return UsageError(f"AWS does not know these credentials ({code}): {_RENEW}")
        if code in _DENIED:
            return UsageError(explain(service, error.operation_name, message, self.place))
        if code in THROTTLED:
            more = "wait a minute and run this again"
            return Refused(f"AWS {service} is throttling ({_line(message)}): {more}", code)
        if code in ("ResourceLimitExceeded", "ServiceQuotaExceededException"):
            more = "ask for more under Service Quotas, or take another --instance_type"
            return Refused(f"a quota of the account is too small: {_line(message)}; {more}", code)
        if code == "NoSuchBucket":
            return UsageError(f"there is no bucket {self.place.bucket}: give another, or make it")
        return Refused(f"AWS refused {error.operation_name} ({code}): {_line(message)}", code)


def region() -> str:
    """The region of the AWS profile, "" where it has none."""
    with Aws(SageMakerConfig()).told("configuration"):
        return str(_session().region_name or "")


def account(place: SageMakerConfig) -> str:
    """The account of the credentials. Raises as `Aws.call` does."""
    return str(Aws(place).call("sts", "get_caller_identity")["Account"])


def _no_credentials(error: Exception) -> str:
    return (
        f"there are no AWS credentials ({_line(error)}): run `aws configure` or `aws sso login`, "
        "or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    )


def _line(said: object) -> str:
    text = " ".join(str(said).split())
    return text if len(text) <= 600 else f"{text[:597]}..."


def _session() -> Any:
    return _boto3().Session()


def _config() -> Any:
    from botocore.config import Config

    retries = {"mode": "standard"}  # with as many attempts as AWS_MAX_ATTEMPTS says
    return Config(retries=retries, connect_timeout=10, read_timeout=60)


def _boto3() -> Any:
    try:
        import boto3
    except ModuleNotFoundError:
        raise UsageError("jobs on AWS need boto3: pip install 'infinite-rl[aws]'") from None
    return boto3


def _exceptions() -> Any:
    _boto3()
    from botocore import exceptions

    return exceptions
